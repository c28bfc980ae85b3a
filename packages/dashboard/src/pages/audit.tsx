import { AuditLog } from '../components/audit-log.tsx'
import { PageHead } from '../components/page-head.tsx'
import { useLinks } from '../session.tsx'

/** Who did what on the whole service, for site admins. */
export default function AuditPage() {
  const to = useLinks()
  return (
    <>
      <PageHead
        title="Audit log"
        back={{ href: to.service(), text: 'Service' }}
        about="Every action that changed something or gave access, and refused attempts."
      />
      <AuditLog whose="all" />
    </>
  )
}
