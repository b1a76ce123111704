/** The commands that use the streaming and query services of a running server. */
import type { OptionTable } from './args.ts'
import type { Command } from './command.ts'

const SIGN_IN: OptionTable = {
  '--username': { value: 'NAME', help: 'sign in as this user; asks for the password' },
  '--password-file': { value: 'FILE', help: 'read the password from the first line of a file' },
  '--password-stdin': { help: 'read the password from the first line of stdin' },
  '--client': { value: 'ID', help: 'the client to sign in with (default gatehouse-cli)' },
  '--token-file': { value: 'FILE', help: 'read an access token from the first line of a file' },
}

/** Of commands that sign in to a server. */
export const SERVER: OptionTable = {
  '--server': { value: 'URL', help: 'the server (default GATEHOUSE_SERVER, or http://localhost:5080)' },
  ...SIGN_IN,
}

const PARAMETER: OptionTable = {
  '--parameter': {
    short: 'p',
    value: 'NAME=VALUE',
    repeatable: true,
    help: 'a value for :NAME, or for $1 as 1=VALUE; repeatable',
  },
}

const LOGIN = 'Without --username and --token-file the command uses the login of "gatehouse login".'

export const REMOTE_COMMANDS: readonly Command[] = [
  {
    name: 'stream',
    positionals: ['[ADDRESS]'],
    options: {
      ...SIGN_IN,
      '--server': { value: 'URL', help: 'the same as ADDRESS' },
      '--anonymous': { help: 'do not use the login of "gatehouse login"' },
      '--version': { value: 'VERSION', help: 'the protocol version (default 1.1)' },
      '--wait': {
        value: 'SECONDS',
        help: 'in a pipe: seconds to wait for messages after the end of the input (default 5)',
      },
    },
    summary: 'Opens a streaming session in a terminal or in a pipe.',
    notes: `
ADDRESS is the server; the default is GATEHOUSE_SERVER, or http://localhost:5080. Without --username and --token-file the
session uses the login of "gatehouse login", if there is one.

In a terminal, type "help" once connected. In a pipe, each line of stdin is a message (JSON, or what you type in the
terminal) and each line of stdout is a message from the server. The session ends when every request is answered and
nothing is subscribed to, or when the wait is over. For example: echo 'Platform/QueryServerInfo' | gatehouse stream

The token is renewed before it expires. A lost connection is opened again with a fresh token, and subscriptions
continue. What was published in between is lost, except on feeds with a history, which send it: "Position" of a message is
where a subscription resumes, "Recovered":false says that messages are missing. The exit status is 1 if a request was refused or not answered, if the server ended the
session, or if the connection is lost in the end.`,
    examples: [
      'stream --username alice',
      'stream < messages.txt',
      'stream --token-file token.txt --wait 60 < messages.txt',
    ],
    load: async () => (await import('./stream/stream.ts')).stream,
  },
  {
    name: 'publish',
    positionals: ['FEED', '[TOPIC]', '[JSON]'],
    options: {
      '--key': { value: 'KEY', help: 'an idempotency key: within 24 hours the same request is published once' },
      '--skip': { value: 'LINES', help: 'number of lines of stdin to skip, because they were published before' },
      ...SERVER,
    },
    summary: 'Publishes a message to a feed, or the messages of stdin.',
    notes: `
With TOPIC and JSON it publishes one message and prints its position, if the feed has a history. Without them each line of
stdin is a message: {"Topic": "ACME", "Data": {"last": "101.25"}}. Lines are sent as they arrive, in requests of up to 10,000
messages and 8 MiB, each of which is published as a whole or not at all. Data is passed on digit for digit.

After an error the command says up to which line it has published, and how to continue. A request whose reply was lost is
repeated with the same key, so that nothing is published twice. With --key stdin must fit into one request.
${LOGIN}`,
    examples: [
      `publish Prices ACME '{"last": "101.25"}'`,
      'publish Prices < prices.ndjson',
      'publish Prices --skip 20000 < prices.ndjson',
    ],
    load: async () => (await import('./publish/publish.ts')).publish,
  },
  {
    name: 'query',
    positionals: ['[STATEMENT]'],
    options: {
      ...PARAMETER,
      '--json': { help: 'print the result as JSON, as the server sends it' },
      '--csv': { help: 'print the result as CSV' },
      '--live': { help: 'keep the result up to date until Ctrl-C; with --json, print each message on one line' },
      '--max-rate': {
        value: 'NUMBER',
        help: 'with --live: the maximum number of changes per second, from 1 to 50 (default 20)',
      },
      ...SERVER,
    },
    summary: 'Runs IQL statements on a server and prints the results, or opens a shell.',
    notes: `
Without STATEMENT a terminal opens a shell with history, completion and live results; \\? shows its commands. In a pipe,
or with "-", the statements are read from stdin. Each ends with a semicolon, which the last one does not need; the first
failure ends them. Each statement gets the parameters that it names.
${LOGIN}

With --live a terminal shows a table that updates itself. In a pipe each row that is new (+), changed (~) or gone (-)
is a line with fields separated by tabs. A lost connection is opened again, and nothing is missed.`,
    examples: [
      'query "SELECT symbol, price FROM trades ORDER BY executed_at DESC LIMIT 10"',
      'query --csv -p symbol=ACME "SELECT * FROM trades WHERE symbol = :symbol" > acme.csv',
      'query',
      'query --username alice --password-file password.txt < report.iql',
      'query --username alice --password-stdin "SELECT count(*) FROM trades" < password.txt',
      'query --live "SELECT symbol, last(price, executed_at) AS price FROM trades GROUP BY symbol ORDER BY symbol"',
    ],
    load: async () => (await import('./query/query.ts')).query,
  },
  {
    name: 'import',
    positionals: ['FILE'],
    options: {
      '--table': { value: 'NAME', required: true, help: 'the table to insert the rows into' },
      '--create': {
        help: 'create the table if it does not exist: with the types of an Arrow or Parquet file, or guessed from the values of CSV',
      },
      '--key': { value: 'COLUMN', repeatable: true, help: 'with --create: a column of the primary key; repeatable' },
      '--type': { value: 'COLUMN=TYPE', repeatable: true, help: 'with --create: the type of a column; repeatable' },
      '--date-format': {
        value: 'COLUMN=FORMAT',
        repeatable: true,
        help: 'how dates are written, such as DD/MM/YYYY (default: detected); repeatable',
      },
      '--number-format': {
        value: 'COLUMN=FORMAT',
        repeatable: true,
        help: 'how numbers are written, 1.234,56 or 1,234.56 (default: detected); repeatable',
      },
      '--null': { value: 'TEXT', repeatable: true, help: 'a text that means no value, such as n/a; repeatable' },
      '--delimiter': { value: 'NAME', help: 'comma, semicolon, tab or bar (default: detected)' },
      '--time-zone': {
        value: 'ZONE',
        help: 'the zone of times that name none, such as America/New_York (default UTC)',
      },
      '--duplicates': {
        value: 'POLICY',
        help: 'a row whose key is taken: reject it, skip it (it is counted, not listed), or replace the existing row (default reject)',
      },
      '--format': {
        value: 'NAME',
        help: 'csv, ndjson, arrow or parquet (default: by the content, then the name of the file)',
      },
      '--dry-run': { help: 'print how the file is read and stop; nothing is written' },
      '--yes': { help: 'with --create: continue even if a few values make a column Text' },
      '--rejected': {
        value: 'FILE',
        help: 'where to write rejected rows, with the reasons (default FILE.rejected.csv)',
      },
      '--restart': { help: 'start over instead of resuming an interrupted import of this file' },
      '--batch': { value: 'ROWS', help: 'rows per request (default 20000)' },
      ...SERVER,
    },
    summary: 'Inserts the rows of a file into a table on a server.',
    notes: `
The first line of FILE names the columns. An interrupted import resumes when the command is repeated: FILE.import.json
records how far it got, and no row is inserted twice. It must have the same options, or --restart. The exit status is 1 if rows were rejected. Their file can be corrected
and imported: its first two columns, the line and the reason, are left out.
Delimiter, types, and how dates and numbers are written are detected from the first 10,000 rows and shown. Where a column of
a new table becomes Text because of a few values, or because days and months, or 1,5 and 1,500, cannot be distinguished, nothing
is written without --yes. An empty field is NULL, or the default of its column.
NDJSON, Arrow and Parquet files are sent as they are, and inserted as a whole or not at all. Arrow and Parquet are recognised by
their first bytes, and with --create the new table has their types.
Of the options above, all three take --duplicates, --time-zone and --dry-run, and Arrow and Parquet --create, --key and --type.
A new table can be read by everyone with a right of the platform; the command says so, and how to restrict it.
${LOGIN}`,
    examples: [
      'import trades.csv --table trades',
      'import trades.csv --table trades --create --key id --type price="Decimal(12, 4)"',
      'import trades.parquet --table trades --create --key id',
    ],
    load: async () => (await import('./query/import.ts')).importRows,
  },
  {
    name: 'export',
    positionals: ['[STATEMENT]'],
    options: {
      '--table': { value: 'NAME', help: 'export this table instead of the result of a statement' },
      '--format': {
        value: 'FORMAT',
        help: 'csv, ndjson, arrow or parquet (default: by the extension of the file, else csv)',
      },
      '--output': {
        value: 'FILE',
        help: 'the file to write, created only once the output is complete (default stdout)',
      },
      ...PARAMETER,
      ...SERVER,
    },
    summary: 'Writes a table or the result of a statement as CSV, NDJSON, Arrow or Parquet.',
    notes: `
Without STATEMENT and --table, or with "-", the statement is read from stdin. Roles, users, clients and the definitions of
tables are exported by "gatehouse config export".
${LOGIN}`,
    examples: [
      'export --table trades --output trades.csv',
      `export "SELECT * FROM trades WHERE symbol = 'ACME'" --output acme.arrow`,
      'export --table trades --format ndjson | gzip > trades.ndjson.gz',
    ],
    load: async () => (await import('./query/export.ts')).exportRows,
  },
  {
    name: 'whoami',
    options: { '--json': { help: 'print it as JSON' }, ...SERVER },
    summary: 'Shows the user that commands act as on a server, and the rights of that user.',
    notes: LOGIN,
    examples: ['whoami', 'whoami --server https://gate.example.com', 'whoami --token-file token.txt --json'],
    load: async () => (await import('./sign-in/whoami.ts')).whoami,
  },
  {
    name: 'token',
    options: SERVER,
    summary: "Prints an access token, for tools that use PostgreSQL's protocol and for other programs.",
    notes: `
The token is that of the stored login, renewed if it is about to expire. Anyone who has it has your rights until it
expires: pass it on in the environment, not on a command line. ${LOGIN}`,
    examples: ['token', 'token --server https://gate.example.com > token.txt'],
    load: async () => (await import('./sign-in/token.ts')).token,
  },
  {
    name: 'mcp',
    options: SERVER,
    summary: 'Connects an assistant on this machine with the platform, over stdin and stdout.',
    notes: `
For assistants that start a program and speak the Model Context Protocol with it. Each line is a message, which is passed on
to /mcp of the server. Its tokens have what agents may have, and no more. ${LOGIN}`,
    examples: ['mcp', 'mcp --server https://gate.example.com'],
    load: async () => (await import('./mcp/mcp.ts')).mcp,
  },
  {
    name: 'agent skill',
    summary: 'Prints a skill (SKILL.md) that tells assistants how to use the platform and its language.',
    examples: ['agent skill > SKILL.md'],
    load: async () => (await import('./mcp/skill.ts')).agentSkill,
  },
  {
    name: 'types',
    options: {
      '--integer': { value: 'FORM', help: 'the form of Integers: number, bigint or text (default number)' },
      '--timestamp': { value: 'FORM', help: 'the form of Timestamps: text or date (default text)' },
      ...SERVER,
    },
    summary: 'Writes TypeScript interfaces for the tables that you may read.',
    notes: `
For programs with the client library: gate.query<Tables['trades']>. Use the same forms as in its option "values".
${LOGIN}`,
    examples: ['types > tables.ts', 'types --username alice --integer bigint > tables.ts'],
    load: async () => (await import('./types.ts')).types,
  },
]
