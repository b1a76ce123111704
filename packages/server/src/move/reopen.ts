/** Lets a database be served again that was moved, or was to be moved. */
import { requireFile } from '../store/check-stored.ts'
import { lockStart } from '../store/cluster/start-lock.ts'
import type { DataLocation } from '../store/database/database.ts'
import { explainMark, type MoveMark, readMoveMark, removeMoveMark } from '../store/database/move-mark.ts'
import { withDatabase } from './agreement.ts'
import { nameOfPlace } from './places.ts'
import { MoveRefused } from './table.ts'

/** Returns the mark that it had. */
export async function reopen(place: DataLocation): Promise<MoveMark> {
  requireFile(place)
  const unlock = await lockNow(place)
  try {
    return await withDatabase(place, async (database) => {
      const found = await readMoveMark(database)
      if (found === undefined)
        throw new MoveRefused(`The database ${database.location} was not moved: it can be served.`)
      if (found.state === 'arriving') throw new MoveRefused(explainMark(found, database.location))
      await removeMoveMark(database)
      return found
    })
  } finally {
    await unlock()
  }
}

/** A move that runs holds the lock. If this waited for its end, both copies could be served. */
async function lockNow(place: DataLocation): Promise<() => Promise<void>> {
  const waiting = new AbortController()
  try {
    return await lockStart({ ...place, signal: waiting.signal, onWait: () => waiting.abort() })
  } catch (error) {
    if (!waiting.signal.aborted) throw error
    throw new MoveRefused(
      `Another gatehouse moves the data of ${nameOfPlace(place)} or is starting on it: stop it, or wait for its end.`,
    )
  }
}
