/** Tables with columns: long groupings compared with DuckDB, QuestDB and with the same tables without columns, and what columns cost writes. */

import { setTimeout as sleep } from 'node:timers/promises'
import { once } from '../packages/server/src/lib/once.ts'
import { ingesting } from './column-stores.ts'
import { contender, inserting, RATES } from './query.ts'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import {
  type HistoryPeer,
  type HistoryStatement,
  startDuckHistory,
  startHistory,
  THOUSANDS,
} from './support/history-peers.ts'
import { startQuestHistory } from './support/history-questdb.ts'
import { load } from './support/http-load.ts'
import { connectPaced } from './support/paced.ts'
import { type GatehousePeer, ROWS, startGatehouse } from './support/query-peers.ts'
import { warm } from './support/warm.ts'

const STATEMENTS: readonly HistoryStatement[] = ['groups', 'bars', 'asof', 'filter', 'percentiles', 'distinct']
/** Of DuckDB's time. */
const MOST: Readonly<Record<HistoryStatement, number>> = {
  groups: 1,
  bars: 1,
  asof: 1,
  filter: 1.5,
  percentiles: 1.5,
  distinct: 2,
}
const WITHOUT = 'without columns'
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 10_000)
const WARM_INSERTS = 5000

export const columns: readonly Measurement[] = [
  {
    name: 'columns',
    about: `groups, bars, as-of, filter, percentiles and distinct over ${THOUSANDS.toLocaleString('en')} thousand trades in columns; DuckDB, QuestDB, and without columns`,
    columns: {
      ...Object.fromEntries(STATEMENTS.map((name) => [name, 'ms'])),
      again: 'ms',
      cpu: 'ms',
      disk: 'MiB',
      memory: 'MiB',
    },
    targets: { again: { most: 20 } },
    ratios: [
      ...STATEMENTS.map((column) => ({ column, to: 'DuckDB', most: MOST[column] })),
      ...STATEMENTS.map((column) => ({ column, to: WITHOUT, most: column === 'distinct' ? 1 / 3 : 0.1 })),
      { column: 'disk', to: WITHOUT, most: 0.6 },
      { column: 'memory', to: WITHOUT, most: 1.1 },
    ],
    subject: async (checkout) => reading(await startHistory(checkout, true)),
    references: () => peers(reading),
  },
  {
    name: 'columns-cpu',
    about: 'the same statements: the processor time of each, which other programs on the machine change less',
    columns: Object.fromEntries(STATEMENTS.map((name) => [name, 'ms'])),
    subject: async (checkout) => working(await startHistory(checkout, true)),
    references: () => peers(working),
  },
  {
    name: 'columns-inserts',
    about: 'durable inserts of one row, 64 at once, into a table with columns and into one without',
    columns: RATES,
    ratios: [{ column: 'rate', to: WITHOUT, least: 0.95 }],
    subject: async (checkout) => contender(await withColumns(await startGatehouse(checkout)), inserting),
    async *references() {
      yield { ...contender(await startGatehouse(HERE), inserting), name: WITHOUT }
    },
  },
  {
    name: 'columns-loads',
    about: 'rows as Arrow streams into a table with columns and into one without',
    columns: { rate: 'rows/s', cpu: 'µs each' },
    ratios: [{ column: 'rate', to: WITHOUT, least: 0.95 }],
    subject: async (checkout) => loading(await withColumns(await startGatehouse(checkout))),
    async *references() {
      yield { ...loading(await startGatehouse(HERE)), name: WITHOUT }
    },
  },
  {
    name: 'columns-compaction',
    about:
      'reads by key at 500/s and inserts of one row at 50/s, beside a process that writes segments all the time, and alone',
    columns: { p50: 'ms', p99: 'ms', write: 'p99 ms' },
    ratios: [
      { column: 'p99', to: 'alone', most: 1.1 },
      { column: 'write', to: 'alone', most: 1.1 },
    ],
    subject: async (checkout) => beside('beside', await startGatehouse(checkout), writeSegments),
    async *references() {
      yield beside('alone', await startGatehouse(HERE), async () => {})
    },
  },
]

/** Segments are written anew all the time: those of a table that has no columns any more are forgotten. */
async function writeSegments(peer: GatehousePeer, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const state of ['off', 'on'])
      await load(peer.port, [{ next: () => peer.statement(`ALTER TABLE trades2 SET WITH (columns = ${state})`) }], 0)
    await sleep(REWRITE_MS, undefined, { signal }).catch(() => {})
  }
}

/** The time in which all segments of the table are written. */
const REWRITE_MS = 4000

async function beside(
  name: string,
  peer: GatehousePeer,
  others: (peer: GatehousePeer, signal: AbortSignal) => Promise<void>,
): Promise<Contender> {
  let nextId = ROWS
  await warm(peer.port, () => peer.byKey(nextId % ROWS))
  await warm(peer.port, () => peer.insert(nextId++), WARM_INSERTS)
  return {
    name,
    async measure(): Promise<Figures> {
      const end = new AbortController()
      const running = others(peer, end.signal)
      const write = await connectPaced(peer, { perSecond: 50, next: () => peer.insert(nextId++) })
      const look = await connectPaced(peer, { connections: 64 })
      const [lookups, writes] = await Promise.all([look(ROUND_MS), write(ROUND_MS)])
      end.abort()
      await running
      return { ...lookups, write: writes.p99 }
    },
    close: peer.stop,
  }
}

async function* peers(create: (peer: HistoryPeer) => Contender): AsyncIterable<Contender> {
  yield create(await startHistory(HERE, false))
  const peer = await startDuckHistory()
  if (peer !== undefined) yield create(peer)
  const other = await startQuestHistory()
  if (other !== undefined) yield create(other)
}

/** Our reader process starts with the first statement, and V8 compiles the loops of each. */
async function warmUp(peer: HistoryPeer): Promise<void> {
  for (const name of STATEMENTS) {
    const request = peer.request(peer.statements[name])
    await load(peer.port, [{ next: () => request }], 0)
  }
}

/** As often each statement runs: the system counts processor time in hundredths of a second. */
const REPEATS = 5

/** The processor time of a statement, on all processors. */
function working(peer: HistoryPeer): Contender {
  const warmed = once(() => warmUp(peer))
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      await warmed()
      const figures: Record<string, number> = {}
      for (const name of STATEMENTS) {
        const request = peer.request(peer.statements[name])
        let spent = 0
        for (let n = 0; n < REPEATS; n++) {
          await peer.forget()
          const before = peer.use().cpuMs
          await load(peer.port, [{ next: () => request }], 0)
          spent += peer.use().cpuMs - before
        }
        figures[name] = spent / REPEATS
      }
      return figures
    },
    close: peer.stop,
  }
}

/** One request at a time, since each uses a processor or all of them. `again` is the time of groups that were asked for just before. */
function reading(peer: HistoryPeer): Contender {
  const milliseconds = async (name: HistoryStatement): Promise<number> => {
    const request = peer.request(peer.statements[name])
    return (await load(peer.port, [{ next: () => request }], 0)).seconds * 1000
  }
  const warmed = once(() => warmUp(peer))
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      await warmed()
      const figures: Record<string, number> = { disk: peer.disk }
      const before = peer.use().cpuMs
      for (const name of STATEMENTS) {
        await peer.forget()
        figures[name] = await milliseconds(name)
      }
      figures.cpu = peer.use().cpuMs - before
      await milliseconds('groups')
      return { ...figures, again: await milliseconds('groups'), memory: peer.use().peakMiB }
    },
    close: peer.stop,
  }
}

async function withColumns(peer: GatehousePeer): Promise<GatehousePeer> {
  await load(peer.port, [{ next: () => peer.statement('ALTER TABLE trades2 SET WITH (columns = on)') }], 0)
  return peer
}

function loading(peer: GatehousePeer): Contender {
  return contender({ ...peer, ingest: peer.bulk }, ingesting)
}
