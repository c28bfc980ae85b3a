/** Every recorded action. Reads are not recorded, except links to archives and their use. */
export const auditActions = [
  ...['session.open', 'session.close', 'session.close-all', 'identity.bind'],
  ...['token.create', 'token.revoke', 'token.use', 'token.use_after_expiry', 'clone_key.replace'],
  ...['migration.start', 'migration.retry', 'migration.cancel', 'migration.delete_archive'],
  ...['migration.unlock_repository', 'archive.link', 'archive.download'],
  ...['schedule.create', 'schedule.update', 'schedule.delete', 'schedule.run', 'schedule.release'],
  ...['webhook.create', 'webhook.update', 'webhook.delete', 'webhook.ping', 'webhook.redeliver'],
  ...['account.create', 'account.update', 'account.remove', 'member.put', 'member.remove'],
  ...['lock.release', 'admin.access', 'admin.migration.cancel', 'admin.migration.retry'],
  ...['catalogue.sync', 'service.copy', 'service.unmark', 'store.accept_loss'],
  ...['admin.migration.delete_archive', 'admin.lock.release', 'admin.token.revoke'],
] as const
export type AuditAction = (typeof auditActions)[number]
