/** Warns that the clock of this machine has gone back: then tokens from before, and tokens of users changed before, are refused. */
import { type Clock, seconds } from 'gatehouse-protocol'
import type { Database } from '../../store/database/database.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Cleanup } from './cleanup.ts'

export interface ClockWatch {
  /** A token that this server has signed is not valid yet. Seconds since the epoch. */
  earlyToken(notBefore: number): void
}

const CHECK_MS = 5_000
/** Clocks of nodes differ, and are set by small steps. */
const TOLERATED_MS = 30_000
const REPEAT_MS = 60_000

export async function watchClock(
  { db }: Pick<Database, 'db'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  cleanup: Cleanup,
): Promise<ClockWatch> {
  let latest = await findNewest(db)
  let warnedAt = Number.NEGATIVE_INFINITY
  const warn = (behindMs: number, message: string): void => {
    // Not by the clock that is wrong.
    if (performance.now() - warnedAt < REPEAT_MS) return
    warnedAt = performance.now()
    logger.warn({ behindSeconds: seconds(behindMs) }, message)
  }
  const check = (): void => {
    const now = clock()
    if (latest - now > TOLERATED_MS)
      warn(latest - now, 'the clock has gone back: tokens are refused until it has caught up; set the clock')
    // Once each time: an earlier clock may have been wrong, and this one right.
    latest = now
  }
  check()
  const timer = setInterval(check, CHECK_MS)
  timer.unref()
  cleanup.add(() => clearInterval(timer))
  return {
    earlyToken: (notBefore) =>
      warn(
        notBefore * 1000 - clock(),
        'a token from the future was refused: the clock has gone back, or that of another node is ahead; set the clocks',
      ),
  }
}

/** What this or another node has recorded last, by its clock. */
async function findNewest(db: Database['db']): Promise<number> {
  const row = await db.selectFrom('audit_log').select('at').orderBy('at', 'desc').limit(1).executeTakeFirst()
  return row?.at ?? 0
}
