/**
 * Events of other processes on a SQLite file, for example the command line: polls `pragma data_version`, which changes when another
 * connection commits. Other workers announce their events.
 */

import { sql } from 'kysely'
import type { Database } from '../store/database/database.ts'
import type { SharedFile } from '../store/database/shared-file.ts'
import type { Feed } from './durable-bus.ts'

const POLL_EVERY_MS = 200

export function createSqliteFeed(
  { db }: Pick<Database, 'db'>,
  onError: (error: unknown) => void,
  shared?: Pick<SharedFile, 'onCommit'>,
): Feed {
  let timer: NodeJS.Timeout | undefined
  let stopListening: (() => void) | undefined
  let version: number | undefined
  return {
    async start(onNews, onIdle) {
      version = await read()
      const poll = () => {
        const sentAt = performance.now()
        read().then((found) => {
          if (found === version) return onIdle(sentAt)
          version = found
          onNews()
        }, onError)
      }
      timer = setInterval(poll, POLL_EVERY_MS)
      timer.unref()
      stopListening = shared?.onCommit(poll)
    },
    async stop() {
      clearInterval(timer)
      stopListening?.()
    },
  }

  async function read(): Promise<number | undefined> {
    const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(db)
    return rows[0]?.data_version
  }
}
