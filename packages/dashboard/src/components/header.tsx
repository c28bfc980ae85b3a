import {
  DeviceDesktopIcon,
  DevicesIcon,
  KeyIcon,
  MoonIcon,
  OrganizationIcon,
  PersonIcon,
  SignOutIcon,
  SunIcon,
} from '@primer/octicons-react'
import { ActionList, ActionMenu, IconButton, registerPortalRoot } from '@primer/react'
import { goTo, type Links, linksOf, type Route } from '../routes.ts'
import { useSession } from '../session.tsx'
import { type ColorMode, useColorMode } from '../theme.ts'
import styles from './header.module.css'
import { Mark } from './mark.tsx'

/**
 * The container of the header's menus, in the header. Primer positions a menu in the page, where scrolling moves it away from a sticky
 * header: a click that scrolled the page between pressing and releasing the button was lost.
 */
const MENUS = { portalContainerName: 'header' }

const registerMenus = (container: HTMLElement | null) => {
  if (container) registerPortalRoot(container, MENUS.portalContainerName)
}

export function Header({ route }: { route: Route }) {
  const { session, signOut } = useSession()
  const user = session.state === 'signed-in' ? session.user : null
  const organizations = session.state === 'signed-in' ? session.organizations : []
  const to = linksOf(route.org)
  const section = sectionOf(route.page)
  return (
    <header className={styles.header}>
      <a href={to.migrations()} className={styles.brand} aria-label="Godwit">
        <Mark size={28} />
        <span>Godwit</span>
      </a>
      {user && <OwnerMenu login={user.login} organizations={organizations} org={route.org} />}
      {user && (
        <nav aria-label="Pages" className={styles.nav}>
          <NavLink href={to.migrations()} isHere={section === 'migrations'}>
            Migrations
          </NavLink>
          <NavLink href={to.schedules()} isHere={section === 'schedules'}>
            Schedules
          </NavLink>
          <NavLink href={to.webhooks()} isHere={section === 'webhooks'}>
            Webhooks
          </NavLink>
          {user.site_admin && (
            <NavLink href={to.service()} isHere={section === 'service'}>
              Service
            </NavLink>
          )}
        </nav>
      )}
      <div className={styles.tools}>
        <a href="./docs" className={styles.link}>
          API
        </a>
        <ColorModeMenu />
        {user && <UserMenu login={user.login} to={to} signOut={signOut} />}
      </div>
      <div ref={registerMenus} className={styles.menus} />
    </header>
  )
}

/** Returns the section that a page belongs to, which the navigation marks. */
function sectionOf(page: Route['page']) {
  if (page.endsWith('schedule') || page === 'schedules') return 'schedules'
  if (page.endsWith('webhook') || page === 'webhooks') return 'webhooks'
  if (page === 'service' || page === 'audit') return 'service'
  return ['repository', 'tokens', 'not-found'].includes(page) ? undefined : 'migrations'
}

interface UserMenuProps {
  login: string
  to: Links
  signOut(options: { all: boolean }): void
}

function UserMenu({ login, to, signOut }: UserMenuProps) {
  return (
    <ActionMenu>
      <ActionMenu.Anchor>
        <button type="button" className={styles.user} aria-label={`Signed in as ${login}`}>
          <span aria-hidden="true">{login[0]}</span>
        </button>
      </ActionMenu.Anchor>
      <ActionMenu.Overlay align="end" {...MENUS}>
        <ActionList>
          <ActionList.Group>
            <ActionList.GroupHeading>Signed in as {login}</ActionList.GroupHeading>
            <ActionList.LinkItem href={to.tokens()}>
              <ActionList.LeadingVisual>
                <KeyIcon />
              </ActionList.LeadingVisual>
              Tokens
            </ActionList.LinkItem>
            <ActionList.Item onSelect={() => signOut({ all: false })}>
              <ActionList.LeadingVisual>
                <SignOutIcon />
              </ActionList.LeadingVisual>
              Sign out
            </ActionList.Item>
            <ActionList.Item onSelect={() => signOut({ all: true })}>
              <ActionList.LeadingVisual>
                <DevicesIcon />
              </ActionList.LeadingVisual>
              Sign out all browsers
            </ActionList.Item>
          </ActionList.Group>
        </ActionList>
      </ActionMenu.Overlay>
    </ActionMenu>
  )
}

interface OwnerMenuProps {
  login: string
  organizations: string[]
  org: string | undefined
}

/** Selects the user or one of the user's organizations. */
function OwnerMenu({ login, organizations, org }: OwnerMenuProps) {
  const shown = [...new Set([...organizations, ...(org === undefined ? [] : [org])])]
  if (shown.length === 0) return null
  const owners: [name: string, org: string | undefined][] = [[`${login} (you)`, undefined]]
  for (const each of shown) owners.push([each, each])
  return (
    <ActionMenu>
      <ActionMenu.Button
        variant="invisible"
        leadingVisual={org === undefined ? PersonIcon : OrganizationIcon}
        className={styles.owner}
        aria-label={`Migrations of ${org ?? login}`}
      >
        {org ?? login}
      </ActionMenu.Button>
      <ActionMenu.Overlay {...MENUS}>
        <ActionList selectionVariant="single">
          {owners.map(([name, each]) => (
            <ActionList.Item
              key={name}
              selected={each === org}
              onSelect={() => goTo(linksOf(each).migrations())}
            >
              <ActionList.LeadingVisual>
                {each === undefined ? <PersonIcon /> : <OrganizationIcon />}
              </ActionList.LeadingVisual>
              {name}
            </ActionList.Item>
          ))}
        </ActionList>
      </ActionMenu.Overlay>
    </ActionMenu>
  )
}

function NavLink(props: { href: string; isHere: boolean; children: string }) {
  return (
    <a
      href={props.href}
      className={styles.link}
      {...(props.isHere && { 'aria-current': 'page' as const })}
    >
      {props.children}
    </a>
  )
}

const MODES: { mode: ColorMode; name: string; icon: typeof SunIcon }[] = [
  { mode: 'auto', name: 'System', icon: DeviceDesktopIcon },
  { mode: 'light', name: 'Light', icon: SunIcon },
  { mode: 'dark', name: 'Dark', icon: MoonIcon },
]

function ColorModeMenu() {
  const [current, choose] = useColorMode()
  const shown = MODES.find(({ mode }) => mode === current) ?? MODES[0]!
  return (
    <ActionMenu>
      <ActionMenu.Anchor>
        <IconButton icon={shown.icon} variant="invisible" aria-label={`Theme: ${shown.name}`} />
      </ActionMenu.Anchor>
      <ActionMenu.Overlay align="end" {...MENUS}>
        <ActionList selectionVariant="single">
          {MODES.map(({ mode, name, icon: Icon }) => (
            <ActionList.Item key={mode} selected={mode === current} onSelect={() => choose(mode)}>
              <ActionList.LeadingVisual>
                <Icon />
              </ActionList.LeadingVisual>
              {name}
            </ActionList.Item>
          ))}
        </ActionList>
      </ActionMenu.Overlay>
    </ActionMenu>
  )
}
