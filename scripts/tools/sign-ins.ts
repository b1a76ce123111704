/** The ways to sign in, by psql: a password, a client's secret, an access token, the device flow of psql 18; and Ctrl-C. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ALICE, signIn as requestTokens } from '../../test/support/demo-user.ts'
import { until } from '../../test/support/until.ts'
import { createUserAgent } from '../../test/support/user-agent.ts'
import { visit } from '../../test/support/visitor.ts'
import { CACHE, runCommand } from './command.ts'
import { debianCommand } from './debian.ts'
import { DATABASE } from './postgres.ts'

interface Server {
  /** Of PostgreSQL's protocol. */
  readonly port: number
  readonly issuer: string
}

interface SignIn {
  readonly name: string
  /** Returns a line for the summary if it went wrong or something is missing. */
  readonly run: (server: Server) => Promise<string | undefined>
}

const PSQL_18 = debianCommand(join(CACHE, 'forky'), 'usr/lib/postgresql/18/bin/psql')
const DEVICE_SECONDS = 60

export const SIGN_INS: readonly SignIn[] = [
  byPassword('with a password', async () => ({ user: ALICE.username, password: ALICE.password }), 'alice'),
  byPassword(
    'with a client secret',
    async () => ({ user: 'demo-service', password: 'demo-service-secret' }),
    'demo-service',
  ),
  byPassword(
    'with an access token',
    async (issuer) => ({ user: 'token', password: await requestToken(issuer) }),
    'alice',
  ),
  byPassword(
    "with an access token and its user's name",
    async (issuer) => ({ user: 'alice', password: await requestToken(issuer) }),
    'alice',
  ),
  { name: 'refused with a wrong password', run: refuseWrongPassword },
  { name: 'by the device flow of psql 18', run: byDeviceFlow },
  { name: 'and Ctrl-C in psql', run: interrupt },
]

function byPassword(
  name: string,
  credentials: (issuer: string) => Promise<{ readonly user: string; readonly password: string }>,
  expected: string,
): SignIn {
  return {
    name,
    async run({ port, issuer }) {
      const { user, password } = await credentials(issuer)
      const { status, output } = await psql(['psql'], port, user, password, 'SELECT current_user')
      return status === 0 && output.includes(expected) ? undefined : failed(name, output)
    },
  }
}

async function refuseWrongPassword({ port }: Server): Promise<string | undefined> {
  const { status, output } = await psql(['psql'], port, 'alice', 'wrong', 'SELECT 1')
  return status !== 0 && /token/i.test(output) ? undefined : failed('refused with a wrong password', output)
}

async function requestToken(issuer: string): Promise<string> {
  const tokens = await requestTokens({ port: Number(new URL(issuer).port) })
  return tokens.access_token
}

function psql(program: readonly string[], port: number, user: string, password: string, statement: string) {
  const environment = {
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: DATABASE,
  }
  return runCommand([...program, '-X', '-At', '-c', statement], { environment, seconds: 30 })
}

/** psql shows an address and a code; alice signs in there and agrees. The issuer has no TLS here, which must be set for libpq. */
async function byDeviceFlow({ port, issuer }: Server): Promise<string | undefined> {
  const [program = '', ...args] = PSQL_18
  if (!existsSync(program))
    return 'left out  sign-in by the device flow: psql 18 is not there; npm run tools -- psql-18 fetches it'
  const address = `host=127.0.0.1 port=${port} user=oauth dbname=${DATABASE} oauth_issuer=${issuer} oauth_client_id=gatehouse-tools`
  const child = spawn(program, [...args, '-X', '-At', '-c', 'SELECT current_user', address], {
    env: { ...process.env, PGOAUTHDEBUG: 'UNSAFE' },
    timeout: DEVICE_SECONDS * 1000,
  })
  let output = ''
  let confirmed: Promise<unknown> | undefined
  const read = (text: string) => {
    output += text
    const asked = /Visit (\S+) and enter the code: (\S+)/.exec(output)
    if (asked !== null) confirmed ??= confirm(issuer, asked[2] ?? '').catch((error: Error) => (output += error.message))
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read)
  const status = await new Promise((resolve) => child.on('close', resolve))
  await confirmed
  return status === 0 && /^alice$/m.test(output) ? undefined : failed('by the device flow', output)
}

async function confirm(issuer: string, code: string): Promise<void> {
  const agent = createUserAgent({ home: issuer })
  const page = await agent.get(`${issuer}/device?user_code=${encodeURIComponent(code)}`)
  await visit(agent, page, ALICE)
}

/** An interrupt cancels the statement, and psql goes on. */
async function interrupt({ port }: Server): Promise<string | undefined> {
  const environment = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: ALICE.username, PGPASSWORD: ALICE.password }
  const child = spawn('psql', ['-X', '-At', DATABASE], { env: { ...process.env, ...environment }, timeout: 30_000 })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  child.stdin.write(
    "SELECT 'signed in';\nSELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price;\n",
  )
  await until('psql is signed in', 20_000, () => output.includes('signed in'))
  await new Promise((resolve) => setTimeout(resolve, 1000))
  child.kill('SIGINT')
  child.stdin.end("SELECT 'still here';\n")
  await new Promise((resolve) => child.on('close', resolve))
  return /cancel/i.test(output) ? undefined : failed('Ctrl-C', output)
}

function failed(name: string, output: string): string {
  return `FAILED    sign-in ${name}: ${output.trim().slice(-600)}`
}
