/** New epochs of all feeds when acknowledged messages may be missing: after a failover that lost writes, or in another cluster of servers. */
import type { FeedDatabase } from './database.ts'
import { SCHEMA } from './tables.ts'

const SYSTEM = `(select system_identifier::text from pg_control_system())`

/** The losses that an operator has accepted; before that nothing can be written. */
export async function beginEpochsAfterLoss(database: FeedDatabase): Promise<void> {
  const losses = database.servers.history.incarnations
    .filter(({ lost, isAccepted }) => lost !== undefined && isAccepted)
    .map(({ id }) => id)
    .join(' ')
  const known = KNOWN.get(database)
  if (known === losses) return
  await database.write(`select ${SCHEMA}.begin_epochs_1($1)`, [losses])
  KNOWN.set(database, losses)
}

/** What this node has already compared. */
const KNOWN = new WeakMap<FeedDatabase, string>()

/** The first node that finds a difference begins the epochs. Without the permission to read the system identifier there is none. */
export const BEGIN_EPOCHS_FUNCTION = `
create or replace function ${SCHEMA}.begin_epochs_1(p_losses text) returns void language plpgsql as $gh$
declare
  v_now text;
  v_before text;
begin
  begin
    v_now := ${SYSTEM} || ' ' || p_losses;
  exception when insufficient_privilege then v_now := ' ' || p_losses;
  end;
  insert into ${SCHEMA}.marks (name, value) values ('history', v_now) on conflict (name) do nothing;
  select value into v_before from ${SCHEMA}.marks where name = 'history' for update;
  if v_before = v_now then return; end if;
  update ${SCHEMA}.marks set value = v_now where name = 'history';
  update ${SCHEMA}.feeds set purges = purges + 1, epoch = substr(md5(random()::text || clock_timestamp()::text || id), 1, 16);
  -- Positions of delayed readers are those of the feed.
  update ${SCHEMA}.feeds d set epoch = s.epoch from ${SCHEMA}.feeds s where s.id = d.source;
end $gh$`
