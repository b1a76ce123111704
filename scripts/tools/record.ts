/** `npm run tools -- --record`: what each client sends, and what PostgreSQL 15 answers, written to test/wire/corpus. */
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { CLIENTS, type Client, prepareClient, runClient } from './clients.ts'
import { CorpusLines } from './corpus-file.ts'
import { MODELLED } from './modelled.ts'
import { DATABASE, READER, type RealPostgres } from './postgres.ts'
import { startRecorder } from './recorder.ts'

const FOLDER = fileURLToPath(new URL('../../test/wire/corpus/', import.meta.url))

/** Returns what was recorded and what was not, a line for each. */
export async function recordClients(postgres: RealPostgres, wanted: readonly string[]): Promise<string[]> {
  const summary: string[] = []
  await writeFile(`${FOLDER}objects.json`, `${JSON.stringify(postgres.objects, undefined, 2)}\n`)
  for (const client of CLIENTS) {
    if (wanted.length > 0 && !wanted.includes(client.name)) continue
    const prepared = await prepareClient(client)
    summary.push(
      prepared.kind === 'missing'
        ? `left out  ${client.name}: ${prepared.reason}`
        : `recorded  ${client.name} ${prepared.version}: ${await record(client, postgres)}`,
    )
  }
  for (const [name, statements] of Object.entries(MODELLED)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    summary.push(`modelled  ${name}: ${await recordModelled(name, statements, postgres)}`)
  }
  return summary
}

/** Simple protocol, as node-postgres sends statements without parameters. */
async function recordModelled(name: string, statements: readonly string[], postgres: RealPostgres): Promise<string> {
  const lines = new CorpusLines('modelled')
  const recorder = await startRecorder(postgres.port, lines)
  const client = new pg.Client({ host: '127.0.0.1', port: recorder.port, user: READER, database: DATABASE })
  await client.connect()
  const failures: string[] = []
  for (const text of statements)
    await client.query(text).catch((error: Error) => failures.push(`\n${error.message}: ${text}`))
  await client.end()
  await recorder.close()
  await lines.write(`${FOLDER}${name}.jsonl`)
  return `${lines.size} statements${failures.join('')}`
}

async function record(client: Client, postgres: RealPostgres): Promise<string> {
  const lines = new CorpusLines()
  const recorder = await startRecorder(postgres.port, lines)
  const { status, output } = await runClient(client, {
    port: recorder.port,
    user: READER,
    password: 'not-asked-for',
    database: DATABASE,
    isPostgres: true,
  })
  await recorder.close()
  await lines.write(`${FOLDER}${client.name}.jsonl`)
  return `${lines.size} statements, status ${status}${status === 0 ? '' : `\n${output.slice(-2000)}`}`
}
