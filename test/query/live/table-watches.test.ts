/** Property test: in whatever order commits, reads and joins come, everybody who is behind is marked in the end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import fc from 'fast-check'
import type { LiveSource } from '../../../src/query/engines/live-source.ts'
import { TableWatches, type Watcher } from '../../../src/query/live/table-watches.ts'

/** A database with one table, whose position is the number of its commits. */
function createDatabase() {
  const listeners = new Set<() => void>()
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
    wake: () => {
      for (const listener of listeners) listener()
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
  fc.record({ act: fc.constantFrom('commit', 'wake', 'begin', 'finish', 'turn', 'leave'), who: fc.nat(2) }),
  { maxLength: 40 },
)

test('everybody who is behind is marked, and those who are not come to rest', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const database = createDatabase()
      const watches = new TableWatches(database.source, (error) => assert.fail(String(error)))
      const readers = [0, 1, 2].map(() => new Reader(watches))
      for (const { act, who } of sequence) {
        const reader = readers[who]
        assert.ok(reader !== undefined)
        if (act === 'commit') {
          database.commit()
          // As an engine does: soon after the commit, but not at once.
          setImmediate(database.wake)
        } else if (act === 'wake') database.wake()
        else if (act === 'begin') reader.begin(database.head)
        else if (act === 'finish') reader.finish()
        else if (act === 'turn') await immediate()
        else if (reader.position !== undefined) {
          watches.remove(reader)
          readers[who] = new Reader(watches)
        }
      }
      for (let round = 0; round < 20; round++) {
        await immediate()
        await immediate()
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
