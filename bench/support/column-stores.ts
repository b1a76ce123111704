/** DuckDB behind node:http, and QuestDB: launched with an empty database. Undefined where they cannot be fetched. */
import { join } from 'node:path'
import { duckdbFolder, questdbJar } from './fetched-peers.ts'
import { requestBytes } from './http-load.ts'
import type { TreeUse } from './process-tree.ts'
import { launch, launchPeer, newPort, temporaryFolder } from './program.ts'

export interface ColumnStore {
  readonly port: number
  use(): TreeUse
  /** A request that runs a statement. */
  ask(sql: string, values?: readonly unknown[]): Buffer
  /** Also removes the database. */
  stop(): Promise<void>
}

/** A commit waits until its write-ahead log is on the disk. */
export async function launchDuckDb(): Promise<ColumnStore | undefined> {
  const packages = duckdbFolder()
  if (packages === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const program = await launchPeer('duckdb.js', port, [join(folder.path, 'duck.db'), packages])
  return {
    port,
    use: program.use,
    ask: (sql, values) => requestBytes('POST', '/query', {}, JSON.stringify({ sql, values }), 'application/json'),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

/** As it is delivered, a commit does not wait for the disk; `isSynced` makes it wait. */
export async function launchQuestDb({ isSynced }: { readonly isSynced: boolean }): Promise<ColumnStore | undefined> {
  const jar = questdbJar()
  if (jar === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const environment = {
    QDB_HTTP_BIND_TO: `127.0.0.1:${port}`,
    QDB_HTTP_MIN_ENABLED: 'false',
    QDB_PG_ENABLED: 'false',
    QDB_LINE_TCP_ENABLED: 'false',
    QDB_TELEMETRY_ENABLED: 'false',
    QDB_CAIRO_COMMIT_MODE: isSynced ? 'sync' : 'nosync',
  }
  const program = await launch('java', ['-p', jar, '-m', 'io.questdb/io.questdb.ServerMain', '-d', folder.path], {
    readyAt: `http://127.0.0.1:${port}/exec?query=select%201`,
    environment,
    quiet: true,
  })
  return {
    port,
    use: program.use,
    ask: (sql) => requestBytes('GET', `/exec?limit=0,10000000&query=${encodeURIComponent(sql)}`),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}
