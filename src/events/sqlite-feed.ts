/** Events of other processes on a SQLite file, for example the command line: polls `pragma data_version`, which changes when another connection commits. */
import type { Database } from '../store/database.ts'
import { sql } from '../store/kysely.ts'
import type { Feed } from './durable-bus.ts'

const POLL_EVERY_MS = 200

export function createSqliteFeed({ db }: Pick<Database, 'db'>, onError: (error: unknown) => void): Feed {
  let timer: NodeJS.Timeout | undefined
  let version: number | undefined
  return {
    async start(onNews, onIdle) {
      version = await read()
      timer = setInterval(() => {
        read().then((found) => {
          if (found === version) return onIdle()
          version = found
          onNews()
        }, onError)
      }, POLL_EVERY_MS)
      timer.unref()
    },
    async stop() {
      clearInterval(timer)
    },
  }

  async function read(): Promise<number | undefined> {
    const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(db)
    return rows[0]?.data_version
  }
}
