/**
 * The statements of materialized views on PostgreSQL: each evaluates groups, or the whole query, and writes what differs, in one snapshot.
 * They return that snapshot, the head of the table's change log, and counts.
 */
import { type IqlType, TEXT, TIMESTAMP } from 'gatehouse-iql'
import { quoteIdentifier, type Sql } from '../../emit/dialect.ts'
import type { Emission } from '../../emit/emission.ts'
import { createEmission, emitQuery } from '../../emit/query.ts'
import type { KeptEngine, KeptPlan, KeptQueries, KeptStatement, KeptStatements } from '../../kept-engine.ts'
import { toKeptStatement } from '../../kept-statement.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { EXISTING_LOGS, HEAD_COLUMNS } from '../live/log-heads.ts'
import { SCHEMA, toPostgres } from '../representation.ts'

/** The groups, as a source of the query of one group. */
const GROUPS = -1

export function emitKept({ plan, touched, one, whole, starts }: KeptQueries): ReturnType<KeptEngine['emit']> {
  const group = one((ordinal, { type }) => {
    return { kind: 'column', source: GROUPS, ordinal, name: `g${ordinal}`, type, nullable: false }
  })
  const statements: KeptStatements = {
    kind: 'at once',
    follow: statement(plan, group, (emission) => {
      emission.sources.set(GROUPS, (ordinal) => `touched.g${ordinal}`)
      const names = plan.keys.map((_key, ordinal) => `g${ordinal}`).join(', ')
      const groups = touched
        .map((query) => `SELECT * FROM (${emitQuery(query, emission)}) AS t (${names})`)
        .join(' UNION ')
      const rows = `SELECT f.* FROM touched CROSS JOIN LATERAL (${emitQuery(group, emission)}) AS f`
      const gone = `SELECT ${names} FROM touched EXCEPT SELECT ${keyOutputs(plan)} FROM found`
      return [
        `touched (${names}) AS MATERIALIZED (${groups})`,
        found(rows),
        `gone (${names}) AS (${gone})`,
        remove(plan),
        write(plan),
      ]
    }),
    compare: statement(plan, whole, (emission) => {
      const names = plan.keys.map((_key, ordinal) => `g${ordinal}`).join(', ')
      const held = `SELECT ${keyColumns(plan)} FROM ${table(plan)}${evaluated(plan, emission)}`
      const gone = `${held} EXCEPT SELECT ${keyOutputs(plan)} FROM found`
      return [found(emitQuery(whole, emission)), `gone (${names}) AS (${gone})`, remove(plan), write(plan)]
    }),
    build: statement(plan, whole, (emission) => {
      const rows = `SELECT * FROM (${emitQuery(whole, emission)}) AS q`
      const put = `INSERT INTO ${table(plan)} (${columns(plan)}) ${rows} RETURNING TRUE AS inserted`
      return ['found AS (SELECT)', 'removed AS (SELECT WHERE FALSE)', `written AS (${put})`]
    }),
    staying: emitStaying(plan),
  }
  return { statements, starts: starts.map(emitStart) }
}

function emitStaying(plan: KeptQueries['plan']): KeptStatement {
  const emission = createEmission(POSTGRES)
  const sql = `SELECT count(*)::text AS staying FROM ${table(plan)} WHERE NOT (${bounds(plan, emission)})`
  return toKeptStatement(emission.placeholders.numbered(sql), toPostgres)
}

/** In microseconds since the epoch. */
function emitStart(query: KeptQueries['whole']): KeptStatement {
  const emission = createEmission(POSTGRES)
  const sql = `SELECT (extract(epoch FROM c0) * 1000000)::bigint::text AS start FROM (${emitQuery(query, emission)}) AS q`
  return toKeptStatement(emission.placeholders.numbered(sql), toPostgres)
}

/** Of groups that are evaluated. */
function evaluated(plan: KeptQueries['plan'], emission: Emission): Sql {
  return plan.least.length === 0 ? '' : ` WHERE ${bounds(plan, emission)}`
}

function bounds({ columns: all, least }: KeptQueries['plan'], { placeholders }: Emission): Sql {
  const each = least.map(({ ordinal, value }) => {
    const { name, type } = all[ordinal] ?? { name: '', type: TIMESTAMP }
    return `${quoteIdentifier(name)} >= ${POSTGRES.value(placeholders.of({ kind: 'literal', value }, type), type)}`
  })
  return each.length === 0 ? 'TRUE' : each.join(' AND ')
}

function statement(
  plan: KeptQueries['plan'],
  weighed: KeptQueries['whole'],
  parts: (emission: Emission) => readonly Sql[],
): KeptStatement {
  const emission = createEmission(POSTGRES, { statement: weighed })
  const base = emission.placeholders.of({ kind: 'literal', value: plan.base.toLowerCase() }, TEXT)
  const all = parts(emission)
  const groups = all.some((part) => part.startsWith('touched')) ? '(SELECT count(*) FROM touched)' : '0'
  const sql = `WITH ${all.join(', ')}
    SELECT ${HEAD_COLUMNS}, ${groups} AS groups, (SELECT count(*) FROM removed) AS removed,
      (SELECT count(*) FROM written WHERE inserted) AS inserted, (SELECT count(*) FROM written) AS written
    FROM (SELECT) AS one LEFT JOIN ${EXISTING_LOGS} ON l.name = ${base}::text`
  return toKeptStatement(emission.placeholders.numbered(sql), toPostgres)
}

function found(rows: Sql): Sql {
  return `found AS MATERIALIZED (${rows})`
}

function remove(plan: KeptQueries['plan']): Sql {
  const same = keyNames(plan).map((name, ordinal) => `v.${name} = gone.g${ordinal}`)
  return `removed AS (DELETE FROM ${table(plan)} AS v USING gone WHERE ${same.join(' AND ')} RETURNING 1)`
}

/** A row was inserted if no transaction has locked or replaced an earlier version of it. */
function write(plan: KeptQueries['plan']): Sql {
  const names = plan.columns.map(({ name }) => quoteIdentifier(name))
  const keys = keyNames(plan)
  const others = names.filter((name) => !keys.includes(name))
  const same = plan.keys.map((ordinal) => `v.${names[ordinal]} = f.c${ordinal}`).join(' AND ')
  const differs = plan.columns.map(({ type }, ordinal) => distinct(`v.${names[ordinal]}`, `f.c${ordinal}`, type))
  const set = others.map((name) => `${name} = excluded.${name}`).join(', ')
  const action = others.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`
  const outputs = plan.columns.map((_column, ordinal) => `f.c${ordinal}`).join(', ')
  return `written AS (INSERT INTO ${table(plan)} (${columns(plan)})
    SELECT ${outputs} FROM found AS f LEFT JOIN ${table(plan)} AS v ON ${same}
    WHERE v.${keys[0]} IS NULL OR ${differs.join(' OR ')}
    ON CONFLICT (${keys.join(', ')}) DO ${action} RETURNING xmax = 0 AS inserted)`
}

/** -0 and 0 are the same as numbers but not as texts. */
function distinct(left: Sql, right: Sql, { kind }: IqlType): Sql {
  const text = kind === 'Double' ? '::text' : ''
  return `${left}${text} IS DISTINCT FROM ${right}${text}`
}

function table({ view }: Pick<KeptPlan, 'view'>): Sql {
  return `${SCHEMA}.${quoteIdentifier(view)}`
}

function columns(plan: KeptQueries['plan']): Sql {
  return plan.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
}

function keyNames({ columns: all, keys }: KeptQueries['plan']): Sql[] {
  return keys.map((ordinal) => quoteIdentifier(all[ordinal]?.name ?? ''))
}

function keyColumns(plan: KeptQueries['plan']): Sql {
  return keyNames(plan).join(', ')
}

function keyOutputs({ keys }: KeptQueries['plan']): Sql {
  return keys.map((ordinal) => `c${ordinal}`).join(', ')
}
