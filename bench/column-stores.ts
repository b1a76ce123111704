/** Ingest and a long result, compared with two databases that store columns: DuckDB and QuestDB. */
import { contender, streaming } from './query.ts'
import { type ColumnPeer, startDuckDb, startQuestDb } from './support/column-peers.ts'
import type { Figures, Measurement } from './support/compare.ts'
import { type Caller, load } from './support/http-load.ts'
import { buildRow, ROWS, startGatehouse, TIMES } from './support/query-peers.ts'

/** Of each round. */
const INGESTED = Number(process.env.BENCH_INGEST_ROWS ?? 200_000)
const ROWS_PER_REQUEST = 5_000
const INGEST_CONNECTIONS = 4

export const columnStores: readonly Measurement[] = [
  {
    name: 'columns-ingest',
    about: `durable rows in requests of ${ROWS_PER_REQUEST.toLocaleString('en')}, ${INGEST_CONNECTIONS} at once; DuckDB and QuestDB`,
    columns: { rate: 'rows/s', cpu: 'µs each' },
    ratios: ['DuckDB', 'QuestDB'].map((to) => ({ column: 'rate', to, least: 1 })),
    ...beside(ingesting),
  },
  {
    name: 'columns-bulk',
    about: `the same, ours as Arrow streams`,
    columns: { rate: 'rows/s', cpu: 'µs each' },
    ratios: ['DuckDB', 'QuestDB'].map((to) => ({ column: 'rate', to, least: 0.6 })),
    ...beside(ingesting),
    subject: async (checkout) => {
      const peer = await startGatehouse(checkout)
      return contender({ ...peer, ingest: peer.bulk }, ingesting)
    },
  },
  {
    name: 'columns-stream',
    about: `a result of ${(ROWS * TIMES).toLocaleString('en')} rows; DuckDB and QuestDB`,
    columns: { time: 's', cpu: 'ms', growth: 'MiB' },
    ratios: ['DuckDB', 'QuestDB'].map((to) => ({ column: 'time', to, most: 1 })),
    ...beside(streaming),
  },
]

function beside(
  work: (peer: ColumnPeer) => (() => Promise<Figures>) | undefined,
): Pick<Measurement, 'subject' | 'references'> {
  return {
    subject: async (checkout) => contender(await startGatehouse(checkout), work),
    async *references() {
      for (const start of [startDuckDb, startQuestDb]) {
        const peer = await start()
        if (peer !== undefined) yield contender(peer, work)
      }
    },
  }
}

/** The requests are built before the time starts. */
export function ingesting(peer: Pick<ColumnPeer, 'port' | 'use' | 'ingest'>): () => Promise<Figures> {
  let nextId = ROWS
  const buildRequest = (): Buffer => peer.ingest(Array.from({ length: ROWS_PER_REQUEST }, () => buildRow(nextId++)))
  return async () => {
    const requests = Array.from({ length: Math.ceil(INGESTED / ROWS_PER_REQUEST) }, buildRequest)
    const rows = requests.length * ROWS_PER_REQUEST
    const callers = Array.from({ length: INGEST_CONNECTIONS }, (): Caller => ({ next: () => requests.shift() }))
    const before = peer.use().cpuMs
    const { seconds } = await load(peer.port, callers, Number.POSITIVE_INFINITY)
    return { rate: rows / seconds, cpu: ((peer.use().cpuMs - before) / rows) * 1000 }
  }
}
