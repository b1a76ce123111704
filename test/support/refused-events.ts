/** Makes the database refuse new events: what a crash between a change and its event would leave must not exist then either. */

import { sql } from 'kysely'
import type { Database } from '../../packages/server/src/store/database/database.ts'

export const EVENT_REFUSED = 'the test refuses events'

export async function refuseEvents({ db, engine }: Database): Promise<() => Promise<void>> {
  const statements =
    engine === 'sqlite'
      ? [`create trigger refuse_events before insert on events begin select raise(abort, '${EVENT_REFUSED}'); end`]
      : [
          `create function refuse_event() returns trigger language plpgsql as $$ begin raise '${EVENT_REFUSED}'; end $$`,
          'create trigger refuse_events before insert on events for each row execute function refuse_event()',
        ]
  for (const statement of statements) await sql.raw(statement).execute(db)
  return async () => {
    await sql.raw(`drop trigger refuse_events${engine === 'sqlite' ? '' : ' on events'}`).execute(db)
    if (engine === 'postgres') await sql.raw('drop function refuse_event').execute(db)
  }
}
