/** Runs each client's program, and the ways to sign in, against one server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import { serveProcess } from '../../test/support/process.ts'
import { CLIENTS, type Client, prepareClient, runClient, type Target, WRITING_CLIENTS } from './clients.ts'
import { DATABASE, READER, type RealPostgres } from './postgres.ts'
import { comparePsqlOutput } from './psql-output.ts'
import { SIGN_INS } from './sign-ins.ts'

export function runAgainstPostgres({ port }: RealPostgres, wanted: readonly string[]): Promise<string[]> {
  return runAll(
    CLIENTS,
    { port, user: READER, password: 'not-asked-for', database: DATABASE, isPostgres: true },
    wanted,
  )
}

/** With the demonstration's user alice, who can read its tables; clients that write, with its administrator. */
export async function runAgainstGatehouse(wanted: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-tools-'))
  const port = await freePort()
  const server = await serveProcess([
    ...['--demo', '--wire-port', String(port), '--wire-writes', '--data', join(folder, 'data')],
  ])
  try {
    const user = { user: READER, password: 'wonderland-1', database: DATABASE }
    const target = { port, ...user, isPostgres: false }
    const summary = await runAll(CLIENTS, target, wanted)
    const admin = { ...target, user: 'admin', password: 'admin-please-change' }
    summary.push(...(await runAll(WRITING_CLIENTS, admin, wanted)))
    for (const { name, run } of SIGN_INS) {
      if (wanted.length > 0 && !wanted.includes('sign-in')) continue
      const problem = await run({ port, issuer: server.issuer })
      summary.push(problem === undefined ? `ran       sign-in ${name}` : `${problem}`)
    }
    if (wanted.length === 0 || wanted.includes('psql-output'))
      summary.push(...(await comparePsqlOutput(port, user.password)))
    return summary
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function runAll(clients: readonly Client[], target: Target, wanted: readonly string[]): Promise<string[]> {
  const summary: string[] = []
  for (const client of clients) {
    if (wanted.length > 0 && !wanted.includes(client.name)) continue
    summary.push(await runOne(client, target))
  }
  return summary
}

async function runOne(client: Client, target: Target): Promise<string> {
  const prepared = await prepareClient(client)
  if (prepared.kind === 'missing') return `left out  ${client.name}: ${prepared.reason}`
  process.stdout.write(`# ${client.name} ${prepared.version}\n`)
  const started = Date.now()
  const { status, output } = await runClient(client, target)
  const problem = status === 0 ? client.check?.(output) : `status ${status}`
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  if (problem === undefined) return `ran       ${client.name} ${prepared.version} (${seconds} s)`
  process.stdout.write(`${output.slice(-(Number(process.env.TOOLS_OUTPUT) || 4000))}\n`)
  return `FAILED    ${client.name} ${prepared.version}: ${problem}`
}
