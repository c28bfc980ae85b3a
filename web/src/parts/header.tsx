import {
  DeviceDesktopIcon,
  MoonIcon,
  PersonIcon,
  SignOutIcon,
  SunIcon,
} from '@primer/octicons-react'
import { ActionList, ActionMenu, IconButton } from '@primer/react'
import { type Place, to } from '../place.ts'
import { useSession } from '../session.tsx'
import { type ColorMode, useColorMode } from '../theme.ts'
import styles from './header.module.css'
import { Mark } from './mark.tsx'

export function Header({ place }: { place: Place }) {
  const { session, signOut } = useSession()
  const user = session.state === 'signed-in' ? session.user : null
  return (
    <header className={styles.header}>
      <a href={to.migrations()} className={styles.brand}>
        <Mark size={28} />
        Godwit
      </a>
      {user && (
        <nav aria-label="Pages" className={styles.nav}>
          <NavLink href={to.migrations()} isHere={place.page === 'migrations'}>
            Migrations
          </NavLink>
          {user.site_admin && (
            <NavLink href={to.service()} isHere={place.page === 'service'}>
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
        {user && (
          <ActionMenu>
            <ActionMenu.Button
              variant="invisible"
              leadingVisual={PersonIcon}
              className={styles.account}
              aria-label={`Signed in as ${user.login}`}
            >
              {user.login}
            </ActionMenu.Button>
            <ActionMenu.Overlay align="end">
              <ActionList>
                <ActionList.Item onSelect={signOut}>
                  <ActionList.LeadingVisual>
                    <SignOutIcon />
                  </ActionList.LeadingVisual>
                  Sign out
                </ActionList.Item>
              </ActionList>
            </ActionMenu.Overlay>
          </ActionMenu>
        )}
      </div>
    </header>
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
  { mode: 'auto', name: 'Same as system', icon: DeviceDesktopIcon },
  { mode: 'light', name: 'Light', icon: SunIcon },
  { mode: 'dark', name: 'Dark', icon: MoonIcon },
]

function ColorModeMenu() {
  const [current, choose] = useColorMode()
  const shown = MODES.find(({ mode }) => mode === current) ?? MODES[0]!
  return (
    <ActionMenu>
      <ActionMenu.Anchor>
        <IconButton icon={shown.icon} variant="invisible" aria-label={`Colors: ${shown.name}`} />
      </ActionMenu.Anchor>
      <ActionMenu.Overlay align="end">
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
