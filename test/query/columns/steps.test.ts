/**
 * A model of a table with columns: random writes, and segments whose three steps stop after any of them, as if the process were killed; files
 * that are deleted, cut and changed; all of it also amid a query. The answers are always those of the rows. `STEPS=100000` runs more of them
 * than the long run's minute of processor time; another `SEED` runs others.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TableDefinition } from '../../../packages/server/src/query/catalogue/definition.ts'
import { applyChanges, prepareCatalogue } from '../../../packages/server/src/query/engines/sqlite/catalogue.ts'
import { buildSegment } from '../../../packages/server/src/query/engines/sqlite/columns/build-segment.ts'
import { KeptParts } from '../../../packages/server/src/query/engines/sqlite/columns/kept-parts.ts'
import { OpenSegments, segmentPath } from '../../../packages/server/src/query/engines/sqlite/columns/segment-files.ts'
import { claimMerge } from '../../../packages/server/src/query/engines/sqlite/columns/segment-merges.ts'
import {
  type BuiltSegment,
  type ClaimedSegment,
  claimDue,
  claimNext,
  findReadableSegments,
  publishSegment,
  readSealed,
  releaseSegment,
  splitSegment,
} from '../../../packages/server/src/query/engines/sqlite/columns/segment-tables.ts'
import { openForReading, openForWriting } from '../../../packages/server/src/query/engines/sqlite/connection.ts'
import { readParts } from '../../../packages/server/src/query/engines/sqlite/read/part-read.ts'
import { toSqlite } from '../../../packages/server/src/query/engines/sqlite/representation.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { Choice } from '../agree/choice.ts'
import { makeRows } from './random-statements.ts'
import { COLUMNS, NAMES, plan } from './segmented-table.ts'

const SEED = Number(process.env.SEED ?? 5)
const STEPS = Number(process.env.STEPS ?? (IS_LONG_RUN ? 1200 : 80))
const ROWS = 300
const MAX_ROWS = 600
const SEGMENT_ROWS = 20n
const MERGED_ROWS = 160
const STATEMENTS = [
  'SELECT k, count(*) AS n, sum(p) AS s, min(i) AS a, max(y) AS b FROM rows GROUP BY k',
  'SELECT count(*) AS n, sum(d) AS s, last(t, ts) AS l FROM rows WHERE p > 20',
  "SELECT n, avg(p) AS p, sum(y) AS q FROM rows WHERE k LIKE '%b%' GROUP BY n ORDER BY n",
  "SELECT date_trunc('day', ts, 'Europe/Berlin') AS d, count(DISTINCT t) AS c FROM rows GROUP BY date_trunc('day', ts, 'Europe/Berlin')",
  'SELECT a.k, count(*) AS n, sum(a.p - b.p) AS s FROM rows AS a ASOF JOIN rows AS b ON a.t = b.t AND a.ts > b.ts GROUP BY a.k',
]
const TABLE: TableDefinition = {
  name: 'rows',
  columns: NAMES.map((name) => ({
    name,
    type: COLUMNS[name],
    nullable: name !== 'id' && name !== 'n',
    default: undefined,
  })),
  primaryKey: ['id'],
  uniques: [],
  indexes: [],
  readScope: undefined,
  writeScope: undefined,
  rowFilter: undefined,
  description: undefined,
  isLive: true,
  isColumnar: true,
  created: 0n,
}

/** A segment between two of its steps. */
interface Unfinished {
  readonly claimed: ClaimedSegment
  readonly built?: BuiltSegment
}

class Model {
  readonly #choice: Choice
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-columns-'))
  readonly #path = join(this.#folder, 'query.db')
  readonly #writer = openForWriting(this.#path)
  readonly #reader
  /** Its snapshots are later than those of queries that are under way. */
  readonly #builder
  readonly #open = new OpenSegments(this.#path)
  readonly #kept = new KeptParts(this.#path)
  #unfinished: Unfinished[] = []
  #now = Math.floor(Date.now() / 1000)
  readCount = 0

  constructor(choice: Choice) {
    this.#choice = choice
    prepareCatalogue(this.#writer)
    applyChanges(this.#writer, [{ change: { kind: 'create', table: TABLE }, fill: null }])
    this.#reader = openForReading(this.#path)
    this.#builder = openForReading(this.#path)
    for (let n = 0; n < ROWS; n++) this.#insert(BigInt(n))
  }

  close(): void {
    this.#open.close()
    this.#reader.close()
    this.#builder.close()
    this.#writer.close()
    rmSync(this.#folder, { recursive: true })
  }

  step(): void {
    this.#now += 20
    const choice = this.#choice
    const steps = [
      () => this.#write(),
      () => this.#write(),
      () => this.#compact(),
      () => this.#compact(),
      () => this.#compact(),
    ]
    if (choice.oneIn(6)) steps.push(() => this.#harm())
    choice.of(steps)()
    this.#compare(
      choice.of(STATEMENTS),
      choice.oneIn(4) ? choice.of([() => this.#write(), () => this.#harm(), () => this.#compact()]) : () => {},
    )
  }

  #insert(id: bigint, words = 'INSERT'): void {
    const [row] = makeRows(this.#choice, 1, true)
    const values = NAMES.map((name) => toSqlite(name === 'id' ? id : (row?.[name] ?? null), COLUMNS[name]))
    this.#writer.prepare(`${words} INTO rows VALUES (${NAMES.map(() => '?').join(', ')})`).run(...values)
  }

  #ends(): { least: bigint; greatest: bigint; count: bigint } {
    const sql = 'SELECT coalesce(min(id), 0) AS least, coalesce(max(id), 0) AS greatest, count(*) AS count FROM rows'
    return this.#writer
      .prepare<[], { least: bigint; greatest: bigint; count: bigint }>(sql)
      .safeIntegers(true)
      .get() as never
  }

  #write(): void {
    const choice = this.#choice
    const { least, greatest, count } = this.#ends()
    const any = (): bigint => least + BigInt(choice.below(Number(greatest - least) + 1))
    const change = choice.of(['insert', 'insert', 'before', 'replace', 'update', 'range', 'key', 'delete'] as const)
    if (change === 'insert') {
      for (let n = 1n; n <= 20n; n++) this.#insert(greatest + n)
      if (count > MAX_ROWS) this.#writer.prepare('DELETE FROM rows WHERE id < ?').run(any())
    } else if (change === 'before') this.#insert(least - 1n - BigInt(choice.below(5)))
    else if (change === 'replace') this.#insert(any(), 'INSERT OR REPLACE')
    else if (change === 'update')
      this.#writer.prepare('UPDATE rows SET p = ?, k = ? WHERE id = ?').run(choice.below(9000), 'b', any())
    else if (change === 'range')
      this.#writer.prepare('UPDATE rows SET i = i + 1 WHERE id BETWEEN ? AND ?').run(any(), any())
    else if (change === 'key') this.#writer.prepare('UPDATE OR REPLACE rows SET id = ? WHERE id = ?').run(any(), any())
    else this.#writer.prepare('DELETE FROM rows WHERE id = ?').run(any())
  }

  /** A step of a segment; or it is left as it is for ever, or the process starts anew. */
  #compact(): void {
    const choice = this.#choice
    const next = this.#unfinished.shift()
    if (next !== undefined && !choice.oneIn(8)) {
      this.#proceed(next)
      return
    }
    if (choice.oneIn(40)) prepareCatalogue(this.#writer)
    const claimed =
      this.#transaction(() => claimDue(this.#writer, 'rows', { now: this.#now, rebuildSeconds: 30 })) ??
      this.#claimNext() ??
      this.#transaction(() => claimMerge(this.#writer, 'rows', { now: this.#now, maxRows: MERGED_ROWS }))
    if (claimed !== undefined) this.#unfinished.push({ claimed })
  }

  #claimNext(): ClaimedSegment | undefined {
    const sealed = readSealed(this.#writer, 'rows')
    const { least, greatest } = this.#ends()
    const last = (sealed ?? least) + SEGMENT_ROWS
    if (sealed === undefined || last > greatest) return undefined
    return this.#transaction(() => claimNext(this.#writer, 'rows', { sealed, last, now: this.#now }))
  }

  #proceed({ claimed, built }: Unfinished): void {
    const { first, last } = claimed
    const choice = this.#choice
    if (built !== undefined) {
      this.#transaction(() => publishSegment(this.#writer, claimed, built))
      return
    }
    const outcome = choice.below(30)
    if (outcome === 0) {
      this.#transaction(() => splitSegment(this.#writer, claimed, last - BigInt(choice.below(30))))
    } else if (outcome === 1) {
      this.#transaction(() => releaseSegment(this.#writer, claimed.claim))
    } else {
      const rows = { table: 'rows', rowId: 'rowid', first, last, columns: TABLE.columns }
      this.#unfinished.push({ claimed, built: buildSegment(this.#builder, this.#path, rows) })
    }
  }

  #transaction<Result>(run: () => Result): Result {
    return this.#writer.transaction(run).immediate()
  }

  /** A file is deleted, cut or changed. */
  #harm(): void {
    const segments = findReadableSegments(this.#writer, 'rows')
    if (segments.length === 0) return
    const path = segmentPath(this.#path, this.#choice.of(segments).tag)
    try {
      const bytes = readFileSync(path)
      const at = this.#choice.below(bytes.length)
      const how = this.#choice.of(['delete', 'cut', 'change'] as const)
      if (how === 'delete') rmSync(path)
      else if (how === 'cut') truncateSync(path, at)
      else writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ 0x55, at, at + 1))
    } catch (error) {
      // It is gone already.
      assert.match(String(error), /ENOENT/)
    }
  }

  /** `amid` happens when the query has its snapshot. */
  #compare(statement: string, amid: () => void): void {
    const { usual, run } = plan(statement, {})
    assert.ok(run)
    const expected = this.#rows(usual.sql, usual.parameters)
    const find = ({ name }: { readonly name: string }) => {
      const found = findReadableSegments(this.#reader, name)
      amid()
      return found.map(({ first, last, tag, rows }) => ({
        rows: Number(rows),
        first,
        last,
        tag,
        open: () => {
          this.readCount++
          return this.#open.get(tag)
        },
      }))
    }
    let rows: unknown[] | undefined
    const parts = { ...run, columns: run.columns && { ...run.columns, keptBytes: 1_000_000 } }
    const isRead = readParts(this.#reader, usual, parts, { find, kept: this.#kept }, (result) => {
      rows = 'sql' in result ? this.#rows(result.sql, result.parameters) : [...result]
    })
    if (isRead) assert.deepEqual(rows, expected, statement)
  }

  #rows(sql: string, parameters: readonly unknown[]): unknown[] {
    return this.#reader
      .prepare(sql)
      .raw(true)
      .safeIntegers(true)
      .all(...parameters)
  }
}

test(`${STEPS} steps: no answer differs`, () => {
  const model = new Model(new Choice(SEED))
  try {
    for (let step = 0; step < STEPS; step++) {
      try {
        model.step()
      } catch (error) {
        throw new Error(`seed ${SEED}, step ${step}`, { cause: error })
      }
    }
    assert.ok(model.readCount > STEPS / 2, `${model.readCount} segments were read`)
  } finally {
    model.close()
  }
})
