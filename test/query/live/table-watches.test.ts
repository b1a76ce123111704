/** Whatever the order of commits, reads and joins, every statement that is behind is eventually marked; and what that costs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { CommitListener } from '../../../packages/server/src/query/engines/commit-listeners.ts'
import type { LiveSource } from '../../../packages/server/src/query/engines/live-source.ts'
import { TableWatches, type Watcher } from '../../../packages/server/src/query/live/evaluate/table-watches.ts'

/** A database with one table, whose position is the number of its commits. */
function createDatabase() {
  const listeners = new Set<CommitListener>()
  let head = 0
  const source: LiveSource = {
    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async changedSince(positions) {
      const found = [...positions].filter(([, position]) => Number(position) < head)
      return new Map(found.map(([table]) => [table, 'changed'] as const))
    },
    compare: (a, b) => Number(a) - Number(b),
    read: () => Promise.reject(new Error('It is not read')),
    trim: async () => {},
    logged: [],
  }
  return {
    source,
    get head() {
      return head
    },
    commit: () => head++,
    /** Undefined: it is not known which tables were written to. */
    wake: (tables?: ReadonlySet<string>) => {
      for (const listener of listeners) listener(tables)
    },
  }
}

class Reader implements Watcher {
  readonly tables = ['t']
  isDirty = false
  /** Of the read that is running. */
  reading: number | undefined
  position: number | undefined
  readonly #watches: TableWatches

  constructor(watches: TableWatches) {
    this.#watches = watches
  }

  markDirty(): void {
    this.isDirty = true
  }

  begin(head: number): void {
    if (this.reading !== undefined) return
    this.reading = head
    this.isDirty = false
  }

  finish(): void {
    if (this.reading === undefined) return
    const isNew = this.position === undefined
    this.position = this.reading
    this.reading = undefined
    const positions = new Map([['t', String(this.position)]])
    if (isNew) this.#watches.add(this, positions)
    else this.#watches.hasRead(this, positions)
  }
}

const steps = fc.array(
  fc.record({ act: fc.constantFrom('commit', 'outside', 'wake', 'begin', 'finish', 'turn', 'leave'), who: fc.nat(2) }),
  { maxLength: 40 },
)

test('every statement that is behind is marked, and the others become idle', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const database = createDatabase()
      const watches = new TableWatches(database.source, (error) => assert.fail(String(error)))
      const readers = [0, 1, 2].map(() => new Reader(watches))
      for (const { act, who } of sequence) {
        const reader = readers[who]
        assert.ok(reader !== undefined)
        if (act === 'commit' || act === 'outside') {
          database.commit()
          const tables = act === 'commit' ? new Set(['t']) : undefined
          // As an engine does: soon after the commit, but not at once.
          setImmediate(() => database.wake(tables))
        } else if (act === 'wake') database.wake()
        else if (act === 'begin') reader.begin(database.head)
        else if (act === 'finish') reader.finish()
        else if (act === 'turn') await immediate()
        else if (reader.position !== undefined) {
          watches.remove(reader)
          readers[who] = new Reader(watches)
        }
      }
      const isBehind = ({ position, isDirty }: Reader) =>
        position !== undefined && (isDirty || position !== database.head)
      for (let round = 0; round < 20 || (round < 2000 && readers.some(isBehind)); round++) {
        await immediate()
        await immediate()
        // After a question about all tables the next one waits for a moment.
        if (round >= 20) await sleep(1)
        for (const reader of readers) {
          if (reader.isDirty && reader.position !== undefined) reader.begin(database.head)
          reader.finish()
        }
      }
      for (const { position, isDirty } of readers) {
        if (position === undefined) continue
        assert.equal(position, database.head, 'nobody is behind')
        assert.equal(isDirty, false)
      }
      watches.close()
    }),
    { numRuns: 500 },
  )
})

test('a commit of this node is one question about its own table, however many tables are watched', async () => {
  const asked: number[] = []
  let tell: CommitListener = () => {}
  const source: LiveSource = {
    ...createDatabase().source,
    onCommit(listener) {
      tell = listener
      return () => {}
    },
    async changedSince(positions) {
      asked.push(positions.size)
      return new Map([...positions.keys()].map((table) => [table, 'changed'] as const))
    },
  }
  const watches = new TableWatches(source, (error) => assert.fail(String(error)))
  const tables = Array.from({ length: 1000 }, (_table, index) => `t${index}`)
  const marked = new Set<string>()
  for (const table of tables) {
    const watcher = { tables: [table], markDirty: () => void marked.add(table) }
    watches.add(watcher, new Map([[table, '0']]))
    await immediate()
    watches.hasNothingNew(new Map([[table, '0']]))
  }
  assert.equal(Math.max(...asked), 1, 'those who join ask for their own tables')
  asked.length = 0
  marked.clear()
  tell(new Set(['t7', 'unwatched']))
  await immediate()
  assert.deepEqual([asked, [...marked]], [[1], ['t7']])
  watches.hasNothingNew(new Map([['t7', '0']]))
  tell(undefined)
  await immediate()
  assert.deepEqual([asked, marked.size], [[1, 1000], 1000], 'another program may have written to any')
  watches.close()
})
