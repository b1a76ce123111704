/** When the last backup was taken, from the audit log, in which `gatehouse backup` records it. */
import type { Database } from '../../store/database/database.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

const EVERY_MS = 60_000

export function watchLastBackup(
  { db }: Pick<Database, 'db'>,
  metrics: Metrics,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  let seconds: number | undefined
  let running: Promise<void> | undefined
  const read = (): void => {
    running ??= findLastBackup(db)
      .then((at) => {
        seconds = at === undefined ? undefined : at / 1000
      }, onError)
      .finally(() => {
        running = undefined
      })
  }
  metrics.watch('gatehouse_last_backup_timestamp_seconds', () => (seconds === undefined ? [] : [[{}, seconds]]))
  read()
  const interval = setInterval(read, EVERY_MS).unref()
  return {
    async stop() {
      clearInterval(interval)
      await running
    },
  }
}

async function findLastBackup(db: Database['db']): Promise<number | undefined> {
  const taken = db.selectFrom('audit_log').select('at').where('event', '=', 'backup.taken')
  return (await taken.orderBy('seq', 'desc').limit(1).executeTakeFirst())?.at
}
