/** Durable inserts with and without replication, to a folder: how many, how late the slowest, and how long the logs become. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contender, inserting } from './query.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load } from './support/http-load.ts'
import { percentiles } from './support/percentiles.ts'
import { type GatehousePeer, ROWS, startGatehouse } from './support/query-peers.ts'

/** Apart from those of the other phase. */
const PACED_IDS = 100 * ROWS
const CALLERS = 4
const PROBE_MS = 1_500

export const replication: Measurement = {
  name: 'replication',
  about: 'durable inserts of one row, 64 at once, and one at a time; with replication and without it',
  columns: { rate: '1/s', cpu: 'ms each', p99: 'ms', log: 'MiB' },
  targets: { log: { most: 64 } },
  ratios: [
    { column: 'rate', to: 'without', least: 0.9 },
    { column: 'p99', to: 'without', most: 1.3 },
  ],
  subject: (checkout) => start('with replication', checkout, true),
  async *references() {
    yield start('without', HERE, false)
  },
}

async function start(name: string, checkout: Checkout, isReplicated: boolean): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
  const data = join(folder, 'data')
  const flags = {
    '--data': data,
    ...(isReplicated && {
      '--backup-url': `file://${join(folder, 'copy')}`,
      '--backup-key': Buffer.alloc(32, 1).toString('base64'),
    }),
  }
  const peer = await startGatehouse(checkout, {}, '', flags)
  const inserts = contender(peer, inserting)
  let nextId = PACED_IDS
  return {
    name,
    async measure(): Promise<Figures> {
      const figures = await inserts.measure()
      const p99 = await probe(peer, () => nextId++)
      return { ...figures, p99, log: statSync(join(data, 'query.db-wal')).size / 2 ** 20 }
    },
    async close() {
      await inserts.close?.()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The slowest of a hundred inserts, of callers that wait for each. */
async function probe(peer: GatehousePeer, id: () => number): Promise<number> {
  const times: number[] = []
  const callers = Array.from({ length: CALLERS }, (): Caller => {
    let begun = 0
    return {
      next() {
        begun = performance.now()
        return peer.insert(id())
      },
      onResponse() {
        times.push(performance.now() - begun)
      },
    }
  })
  await load(peer.port, callers, PROBE_MS)
  return percentiles(times).p99
}
