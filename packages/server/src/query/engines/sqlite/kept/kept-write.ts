/** The statements that write the rows of a materialized view: into the view, or into a table beside it that replaces its rows at once. */
import { createHash } from 'node:crypto'
import { quoteIdentifier, type Sql } from '../../emit/dialect.ts'
import type { ScalarBindable } from '../../emit/parameters.ts'
import type { WriteStep } from '../../engine.ts'
import type { KeptPlan, KeptValues } from '../../kept-engine.ts'

/** What is in such a table after a crash means nothing. */
const ASIDE_PREFIX = '_gh_aside_'

/** The steps of a write that adds or changes rows, and removes those with these keys. */
export function keptWriteSteps(
  plan: KeptPlan,
  written: readonly KeptValues[],
  deleted: readonly KeptValues[],
): WriteStep[] {
  const { names, keyNames } = columnNames(plan)
  const put = `INSERT INTO ${viewTable(plan)} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ${onConflict(plan)}`
  const remove = `DELETE FROM ${viewTable(plan)} WHERE ${keyNames.map((name) => `${name} = ?`).join(' AND ')}`
  return [
    ...(deleted.length === 0 ? [] : [{ sql: remove, parameterSets: deleted }]),
    ...(written.length === 0 ? [] : [{ sql: put, parameterSets: written }]),
  ]
}

export function emptyStep(plan: KeptPlan): WriteStep {
  return plain(`DELETE FROM ${viewTable(plan)}`)
}

/** A table beside the view, without rows. */
export function openAsideSteps(plan: KeptPlan): WriteStep[] {
  const { names, keyNames } = columnNames(plan)
  const create = `CREATE TABLE ${aside(plan.view)} (${names.join(', ')}, PRIMARY KEY (${keyNames.join(', ')}))`
  return [plain(dropAside(plan.view)), plain(create)]
}

export function asideStep(plan: KeptPlan, rows: readonly KeptValues[]): WriteStep {
  const values = plan.columns.map(() => '?').join(', ')
  return { sql: `INSERT INTO ${aside(plan.view)} VALUES (${values})`, parameterSets: rows }
}

/** Makes the rows of the view those beside it, but for groups that are not evaluated. */
export function takeAsideSteps(plan: KeptPlan): WriteStep[] {
  const { names, keyNames } = columnNames(plan)
  const isWanted = `SELECT 1 FROM ${aside(plan.view)} AS a WHERE ${same(keyNames, 'a', 'v')}`
  const isHeld = `SELECT 1 FROM ${viewTable(plan)} AS v WHERE ${same(names, 'a', 'v')}`
  const wanted = names.map((name) => `a.${name}`).join(', ')
  const { isEvaluated, values } = evaluated(plan)
  return [
    {
      sql: `DELETE FROM ${viewTable(plan)} AS v WHERE ${isEvaluated} AND NOT EXISTS (${isWanted})`,
      parameterSets: [values],
    },
    plain(
      `INSERT INTO ${viewTable(plan)} (${names.join(', ')}) SELECT ${wanted} FROM ${aside(plan.view)} AS a
       WHERE NOT EXISTS (${isHeld}) ${onConflict(plan)}`,
    ),
    plain(dropAside(plan.view)),
  ]
}

type AddValue = (value: ScalarBindable) => Sql

/** How many rows of the view differ from those beside it, with their keys in both or in one. */
export function countWrong(plan: KeptPlan, value: AddValue): Sql {
  const { names, keyNames } = columnNames(plan)
  const isHeld = `SELECT 1 FROM ${viewTable(plan)} AS v WHERE ${same(names, 'a', 'v')}`
  const isWanted = `SELECT 1 FROM ${aside(plan.view)} AS a WHERE ${same(keyNames, 'a', 'v')}`
  return `(SELECT count(*) FROM ${aside(plan.view)} AS a WHERE NOT EXISTS (${isHeld})) +
    (SELECT count(*) FROM ${viewTable(plan)} AS v WHERE ${evaluatedBy(plan, value)} AND NOT EXISTS (${isWanted}))`
}

/** How many rows the view has afterwards. */
export function countTaken(plan: KeptPlan, value: AddValue): Sql {
  return `(SELECT count(*) FROM ${aside(plan.view)}) + ${countWhere(plan, `NOT (${evaluatedBy(plan, value)})`)}`
}

export function countRows(plan: KeptPlan): Sql {
  return countWhere(plan, '1 = 1')
}

/** The rows of the view `v` that meet a condition. */
export function countWhere(plan: KeptPlan, condition: Sql): Sql {
  return `(SELECT count(*) FROM ${viewTable(plan)} AS v WHERE ${condition})`
}

/** A condition for the rows of the view `v` whose groups are evaluated, with its values. */
export function evaluated(plan: KeptPlan): { readonly isEvaluated: Sql; readonly values: readonly ScalarBindable[] } {
  const values: ScalarBindable[] = []
  const isEvaluated = evaluatedBy(plan, (value) => {
    values.push(value)
    return '?'
  })
  return { isEvaluated, values }
}

function evaluatedBy({ columns, statements }: KeptPlan, value: AddValue): Sql {
  if (statements.kind !== 'by group' || statements.least.length === 0) return '1 = 1'
  const bounds = statements.least.map(({ ordinal, value: least }) => {
    return `v.${quoteIdentifier(columns[ordinal]?.name ?? '')} >= ${value(least)}`
  })
  return bounds.join(' AND ')
}

export function dropAside(view: string): Sql {
  return `DROP TABLE IF EXISTS ${aside(view)}`
}

/** Names begin with _gh_, which is reserved, and have a bounded length. */
function aside(view: string): Sql {
  return `main.${ASIDE_PREFIX}${createHash('sha256').update(view.toLowerCase()).digest('hex').slice(0, 24)}`
}

function viewTable({ view }: KeptPlan): Sql {
  return `main.${quoteIdentifier(view)}`
}

function columnNames({ columns, keys }: KeptPlan): { readonly names: Sql[]; readonly keyNames: Sql[] } {
  const names = columns.map(({ name }) => quoteIdentifier(name))
  return { names, keyNames: keys.map((ordinal) => names[ordinal] ?? '') }
}

function onConflict(plan: KeptPlan): Sql {
  const { names, keyNames } = columnNames(plan)
  const others = names.filter((name) => !keyNames.includes(name))
  const set = others.map((name) => `${name} = excluded.${name}`).join(', ')
  return `ON CONFLICT (${keyNames.join(', ')}) DO ${others.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`
}

function same(names: readonly Sql[], left: Sql, right: Sql): Sql {
  return names.map((name) => `${left}.${name} IS ${right}.${name}`).join(' AND ')
}

function plain(sql: Sql): WriteStep {
  return { sql, parameterSets: [[]] }
}
