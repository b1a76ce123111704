/** The heads of change logs: what a position of a table consists of, beside the snapshot. */
import { INCARNATION } from '../../../../store/database/servers/identity.ts'
import { SCHEMA } from '../representation.ts'

/**
 * One row for each log. `relation` is the log's oid, which changes after a restore. A TRUNCATE changes `epoch`. Rows of
 * transactions before `floor` may have been deleted.
 */
export const LOGS = `${SCHEMA}._gh_logs`

/** Of a log `l`: changes when the log is another one, after a restore and after a TRUNCATE. */
export const LOG_EPOCH = `left(encode(sha256(convert_to(concat_ws('/', l.relation, l.epoch,
      (SELECT oid FROM pg_database WHERE datname = current_database())), 'UTF8')), 'hex'), 12)`

/** The snapshot, the primary, and of each log its table, floor and epoch. Further rows of `FROM` follow with LEFT JOIN. */
export const HEAD_COLUMNS = `pg_current_snapshot()::text AS snapshot, ${INCARNATION} AS incarnation, l.name, l.floor::text AS floor,
    ${LOG_EPOCH} AS epoch`

/** The logs that exist, as `l`. */
export const EXISTING_LOGS = `${LOGS} AS l JOIN pg_class AS c ON c.oid = l.relation AND c.relname = l.log`
