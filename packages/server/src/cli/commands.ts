/** Every command of the program. A name of two words belongs to a group: `user add`. */
import { ADMIN_COMMANDS } from './admin/commands.ts'
import { alertCommands } from './alerts/alert-commands.ts'
import type { Command } from './command.ts'
import { REMOTE_COMMANDS, SERVER } from './remote-commands.ts'

export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    settings: true,
    summary: 'Runs the services of this node.',
    notes: `
Every setting can be a flag, an environment variable or part of the file named by --config; "gatehouse config" lists
them.`,
    examples: ['serve --demo', 'serve --host 0.0.0.0 --database-url postgres://gatehouse@db/gatehouse'],
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'health',
    options: {
      '--ready': { help: 'check whether the server is ready for requests, not only whether it is running' },
      '--timeout': { value: 'SECONDS', help: 'how long to wait for the answer (default 2)' },
    },
    settings: true,
    summary: 'Checks whether the server on this machine is alive; the exit status is 0 if it is.',
    notes: `
For container health checks. Run it with the settings of the server: it uses their host, port and TLS files.`,
    examples: ['health', 'health --ready --port 8443'],
    load: async () => (await import('./health.ts')).health,
  },
  {
    name: 'config',
    options: { '--json': { help: 'print the settings as JSON' } },
    settings: true,
    summary: 'Shows the settings in effect and where each comes from.',
    notes:
      'Secrets are masked. Flags have the same effect as with "gatehouse serve". "gatehouse config export" writes a declarative file.',
    examples: ['config', 'config --port 8080 --json'],
    load: async () => (await import('./config.ts')).config,
  },
  {
    name: 'apply',
    options: {
      '--dry-run': { help: 'show the changes without making them' },
      '--json': { help: 'print the changes as JSON' },
    },
    settings: true,
    summary: 'Applies the declarative file, as every start of the server does.',
    examples: ['apply --config gatehouse.yaml --dry-run'],
    load: async () => (await import('./apply.ts')).apply,
  },
  {
    name: 'usage',
    options: {
      '--month': { value: 'MONTH', help: 'such as 2026-11' },
      '--zone': { value: 'ZONE', help: 'the time zone of the month (default UTC)' },
      '--product': { value: 'PRODUCT', help: 'only this product' },
      '--head': { value: 'SEQ', help: 'the last row of the audit log that counts (default: the newest)' },
      '--from': { value: 'FILE', help: 'an exported audit log, whose chain is verified, instead of a server' },
      '--json': { help: 'print the report as JSON' },
    },
    settings: true,
    summary: 'Reports who used which product of market data in a month, as CSV.',
    notes:
      'The report comes from the audit log alone: a server, and its log as "gatehouse audit export" writes it, give the same bytes.',
    examples: ['usage --month 2026-11 > usage.csv', 'usage --month 2026-11 --from audit.ndjson'],
    load: async () => (await import('./usage.ts')).usage,
  },
  {
    name: 'schema',
    summary: 'Prints the JSON Schema of the declarative file.',
    examples: ['schema > gatehouse.schema.json'],
    load: async () => (await import('./schema.ts')).schema,
  },
  {
    name: 'backup',
    positionals: ['FOLDER'],
    options: {
      '--keep': {
        value: 'N',
        help: 'then delete the oldest backups of this installation next to FOLDER, keeping N',
      },
      '--json': { help: 'print a summary as JSON' },
    },
    settings: true,
    summary: 'Writes a verified backup of the data folder and the databases; the server can be running.',
    notes: `
The folder must not exist yet. The backup contains the keys of this installation: protect it like the data folder.`,
    examples: ['backup /var/backups/gatehouse/monday --keep 30', 'backup ./before-upgrade --data /var/lib/gatehouse'],
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    name: 'restore',
    positionals: ['BACKUP'],
    options: {
      '--unsealed': { help: 'restore even if the seal of the backup is missing or does not match' },
      '--at': { value: 'TIME', help: 'of a replicated backup: as it was then, such as 2026-11-19T09:30:00Z' },
      '--generation': { value: 'NAME', help: 'of a replicated backup: where several were written, this one' },
      '--list': { help: 'of a replicated backup: only show from when to when it can be restored' },
      '--json': { help: 'print a summary as JSON' },
    },
    settings: true,
    summary: 'Restores a backup into an empty data folder and, if there is one, an empty database.',
    notes: `
Nothing is ever overwritten. The backup must be as it was taken: its manifest is sealed with the master key of the
server, which is in the backup unless GATEHOUSE_MASTER_KEY is set. A replicated backup has a URL, that of backup_url, and
is opened with GATEHOUSE_BACKUP_KEY.`,
    examples: [
      'restore /var/backups/gatehouse/monday --data /var/lib/gatehouse',
      'restore file:///mnt/nas/gate --at 2026-11-19T09:30:00Z --data /var/lib/gatehouse',
    ],
    load: async () => (await import('./backup.ts')).restore,
  },
  {
    name: 'backups key',
    summary: 'Prints a new key for the setting backup_key.',
    notes: `
Keep a copy of it elsewhere: what is sent to backup_url cannot be read without it.`,
    examples: ['backups key'],
    load: async () => (await import('./backup-key.ts')).printBackupKey,
  },
  {
    name: 'compact',
    options: {
      '--dry-run': { help: 'show how much space each file would give back, and change nothing' },
      '--all': { help: 'also files without free space, so that no trace of deleted rows is left in them' },
      '--json': { help: 'print the files as JSON' },
    },
    settings: true,
    summary: 'Gives the space of deleted rows back to the disk, on SQLite; the server must be stopped.',
    notes: `
New rows use this space again, so that it is needed only after many rows were deleted. The disk must have twice the size
of the remaining data free for the time. A run that was killed has changed nothing in the file that it was at.`,
    examples: ['compact --dry-run', 'compact --data /var/lib/gatehouse'],
    load: async () => (await import('./compact.ts')).compact,
  },
  {
    name: 'move',
    options: {
      '--to': { value: 'URL|FOLDER', help: 'the PostgreSQL database, or the data folder for SQLite' },
      '--dry-run': { help: 'check whether everything can be moved, and copy nothing' },
      '--reopen': { help: 'allow servers to start again on the database that was moved' },
      '--json': { help: 'print a summary as JSON' },
    },
    settings: true,
    summary: 'Moves all data from SQLite to an empty PostgreSQL database, or back, and compares every row.',
    notes: `
The settings name the database to move from; stop every server on it first. A move that was interrupted continues when
the command is run again. Afterwards the source is unchanged, but servers refuse to start on it. PostgreSQL takes the
password from PGPASSWORD if the URL has none.`,
    examples: [
      'move --to postgres://gatehouse@db/gatehouse --dry-run',
      'move --to postgres://gatehouse@db/gatehouse',
      'move --to /var/lib/gatehouse-sqlite --database-url postgres://gatehouse@db/gatehouse',
    ],
    load: async () => (await import('./move.ts')).move,
  },
  ...REMOTE_COMMANDS,
  ...alertCommands(SERVER),
  {
    name: 'migrate',
    options: {
      '--create': { help: 'create the database if there is none' },
      '--dry-run': { help: 'run the pending migrations on the real data, then roll them back' },
      '--json': { help: 'print the migrations as JSON' },
    },
    settings: true,
    summary: 'Migrates the database to the schema of this version, as every start of the server does.',
    notes: `
Nodes that start together migrate one after another. Each migration is applied completely or not at all. Servers of an
earlier version that run on the database stop serving. Without --create the database has to exist: except for this one,
for "serve", "restore" and "move", no command creates or migrates a database.`,
    examples: ['migrate --create', 'migrate --dry-run', 'migrate --database-url postgres://gatehouse@db/gatehouse'],
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'database status',
    options: { '--json': { help: 'print the servers as JSON' } },
    settings: true,
    summary:
      'Shows the PostgreSQL servers: the primary in use, its timeline, and the standbys that a commit waits for.',
    notes: 'Run it with the settings of the server.',
    examples: ['database status', 'database status --database-url postgres://gatehouse@db1,db2/gatehouse'],
    load: async () => (await import('./database.ts')).databaseStatus,
  },
  {
    name: 'database accept',
    options: { '--json': { help: 'print what was accepted as JSON' } },
    settings: true,
    summary: 'Continues with a database that lacks acknowledged writes after a failover.',
    notes: `
Nodes stop writing when the new primary lacks writes that they have acknowledged. Save the data of the old primary
first, if it still exists: the missing writes are only there. The data folder remembers the latest timeline that its
node has seen. The command replaces it with that of the server that answers now, which the node would otherwise take
for an old primary or for another database: restart the node then.`,
    examples: ['database accept'],
    load: async () => (await import('./database.ts')).databaseAccept,
  },
  {
    name: 'doctor',
    options: { '--json': { help: 'print the findings as JSON' } },
    settings: true,
    summary: 'Checks the installation and says how to fix what is wrong.',
    notes: `
Run it as the user and with the settings of the server. The exit status is 1 if there is a fault, 0 if there are only
warnings.`,
    examples: ['doctor', 'doctor --config /etc/gatehouse/gatehouse.yaml'],
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  ...ADMIN_COMMANDS,
  {
    name: 'login',
    options: {
      '--scope': { value: 'SCOPE', repeatable: true, help: 'ask for this scope only; repeatable (default: all)' },
      '--username': {
        value: 'NAME',
        help: 'log in with the password of this user, not on a page; the client needs the password grant',
      },
      '--password-file': { value: 'FILE', help: 'read the password from the first line of a file' },
      '--password-stdin': { help: 'read the password from the first line of stdin' },
      '--client': { value: 'ID', help: 'the client to log in with (default gatehouse-cli)' },
    },
    settings: true,
    summary:
      'Logs in to a server so that later commands can use it: queries, imports, exports, streams and administration.',
    notes: `
Prints a code to confirm on a page of the server, then who you are logged in as, and with which rights. The login has
every right that you hold and the client may have; with --scope it has less, and without the scope offline_access it
is not renewed. The server is --server or GATEHOUSE_SERVER; the default is http://localhost:5080. Every server
has the client gatehouse-cli for the login on a page, unless its setting cli_client is false. --username needs a client
with the password grant, which only the demonstration has: register gatehouse-cli yourself with "--grant password" as
well; see "gatehouse client add --help". Without a terminal the password is the first line of stdin. A user with a
second factor needs the page.`,
    examples: [
      'login',
      'login --server https://gate.example.com',
      'login --scope Platform/Market --scope offline_access --server https://gate.example.com',
      'login --username alice --password-stdin < password.txt',
    ],
    load: async () => (await import('./sign-in/login.ts')).login,
  },
  {
    name: 'logout',
    settings: true,
    summary: 'Deletes the login to a server and revokes its tokens.',
    notes: 'The server is --server or GATEHOUSE_SERVER; the default is http://localhost:5080.',
    examples: ['logout', 'logout --server https://gate.example.com'],
    load: async () => (await import('./sign-in/login.ts')).logout,
  },
  {
    name: 'completion',
    positionals: ['bash|zsh|fish'],
    summary: 'Prints a completion script for a shell.',
    examples: [
      'completion bash > /etc/bash_completion.d/gatehouse',
      'completion fish > ~/.config/fish/completions/gatehouse.fish',
    ],
    load: async () => {
      const { completion } = await import('./completion.ts')
      return (args) => completion(args, COMMANDS)
    },
  },
]
