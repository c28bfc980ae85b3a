import { AuditLog } from '../parts/audit-log.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { linksOf } from '../routes.ts'

/** Who did what on the whole service, for site admins. */
export default function AuditPage() {
  return (
    <>
      <PageHead
        title="Audit log"
        back={{ href: linksOf(undefined).service(), text: 'Service' }}
        about="Every action that changed something or gave access, and refused attempts."
      />
      <AuditLog whose="all" />
    </>
  )
}
