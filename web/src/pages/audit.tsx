import { AuditLog } from '../parts/audit-log.tsx'
import { PageHead } from '../parts/page-head.tsx'

/** Who did what on the whole service, for site admins. */
export default function AuditPage() {
  return (
    <>
      <PageHead
        title="Audit log"
        about="Every action that changed something or gave access, and refused attempts."
      />
      <AuditLog whose="all" />
    </>
  )
}
