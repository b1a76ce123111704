/** What psql prints for its commands that describe: the same as with a PostgreSQL 15, but for listed differences. */
import { runCommand } from './command.ts'
import { DATABASE, READER, startRealPostgres } from './postgres.ts'

interface Printed {
  readonly command: string
  /** What differs, and how it is made equal in both outputs. */
  readonly differs?: { readonly why: string; readonly pattern: RegExp }
}

const SIZES = { why: 'bytes on disk', pattern: /\b\d+ (bytes|kB|MB)\b/g }

const COMMANDS: readonly Printed[] = [
  ...[
    '\\d',
    '\\d trades',
    '\\d instruments',
    '\\d quotes',
    '\\d trades_pkey',
    '\\d+ trades',
    '\\d nothing_of_this_name',
  ],
  ...[
    '\\dt',
    '\\dt public.t*',
    '\\di',
    '\\dv',
    '\\dm',
    '\\ds',
    '\\dE',
    '\\dD',
    '\\dT',
    '\\df',
    '\\da public.*',
    '\\dC public.*',
  ],
  ...[
    '\\dd',
    '\\ddp',
    '\\drds',
    '\\dy',
    '\\dRp',
    '\\dRs',
    '\\des',
    '\\dew',
    '\\dF public.*',
    '\\dP',
    '\\dO',
    '\\sf nothing',
  ],
].map((command) => ({ command }))

const DIFFERENT: readonly Printed[] = [
  { command: '\\dt+', differs: SIZES },
  { command: '\\di+', differs: SIZES },
  { command: '\\d+', differs: SIZES },
  { command: '\\dn', differs: { why: 'the owner of the schema', pattern: /pg_database_owner|gatehouse/g } },
  { command: '\\du', differs: { why: 'the owner is no superuser', pattern: / gatehouse .*/g } },
  { command: '\\l gatehouse', differs: { why: 'rights are scopes', pattern: /\S*gatehouse=\S*|=\S*\/gatehouse/g } },
  {
    command: '\\z trades',
    differs: { why: 'rights are scopes', pattern: /gatehouse=\w+\/gatehouse|\n.*alice=r\/gatehouse.*/g },
  },
]

/** Returns lines for the summary. */
export async function comparePsqlOutput(port: number, password: string): Promise<string[]> {
  const postgres = await startRealPostgres()
  if (postgres === undefined)
    return ["left out  psql's output: PostgreSQL 15 is not installed: apt-get install postgresql-15"]
  try {
    const problems: string[] = []
    const all = [...COMMANDS, ...DIFFERENT]
    for (const { command, differs } of all) {
      const [theirs, ours] = await Promise.all([
        print(postgres.port, password, command),
        print(port, password, command),
      ])
      if (normalised(theirs, differs?.pattern) === normalised(ours, differs?.pattern)) continue
      problems.push(command)
      process.stdout.write(`# psql ${command}\n${theirs}\n# but here\n${ours}\n`)
    }
    if (problems.length > 0) return [`FAILED    psql's output: other than PostgreSQL's for ${problems.join(', ')}`]
    return [`ran       psql's output of ${all.length} commands, as with PostgreSQL ${postgres.version}`]
  } finally {
    await postgres.stop()
  }
}

async function print(port: number, password: string, command: string): Promise<string> {
  const environment = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: READER, PGPASSWORD: password }
  const words = ['psql', '-X', '-P', 'pager=off', '-c', command, DATABASE]
  const { output } = await runCommand(words, { environment: { ...environment, PGDATABASE: DATABASE }, seconds: 60 })
  return output
}

/** The widths of columns depend on what is in them. */
function normalised(output: string, pattern: RegExp | undefined): string {
  if (pattern === undefined) return output
  return output
    .replace(pattern, '')
    .replace(/-+/g, '-')
    .replace(/[ +]+/g, ' ')
    .replace(/(^ | $)/gm, '')
    .replace(/\n+/g, '\n')
}
