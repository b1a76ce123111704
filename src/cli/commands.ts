/** Every command of the program. A name of two words is one of a group: `user add`. */
import { ADMIN_COMMANDS } from './admin/list.ts'
import { BACKUP_HELP, DOCTOR_HELP, MIGRATE_HELP, RESTORE_HELP } from './care-help.ts'
import type { Command } from './command.ts'
import { EXPORT_HELP, IMPORT_HELP, QUERY_HELP } from './query/help.ts'
import { STREAM_HELP } from './stream-help.ts'

export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    usage: '[SETTINGS]',
    summary: 'Runs the services of this node.',
    help: `
Every setting can be given as a flag, in the environment or in the file of --config; "gatehouse config" shows them.

  gatehouse serve --demo
  gatehouse serve --host 0.0.0.0 --database-url postgres://gatehouse@db/gatehouse
`,
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'config',
    usage: '[--json] [SETTINGS]',
    summary: 'Shows the settings in force and where each came from.',
    help: `
Secrets are masked. Settings given as flags count as they would for "gatehouse serve".

  gatehouse config
  GATEHOUSE_PORT=8080 gatehouse config --json
`,
    load: async () => (await import('./config.ts')).config,
  },
  {
    name: 'apply',
    usage: '[--dry-run] [--json] [SETTINGS]',
    summary: 'Reconciles the declarative file, as every start does.',
    help: `
  --dry-run  show the difference and change nothing
  --json     the changes as JSON

  gatehouse apply --config gatehouse.yaml --dry-run
`,
    load: async () => (await import('./apply.ts')).apply,
  },
  {
    name: 'schema',
    usage: '',
    summary: 'Prints the JSON Schema of the declarative file.',
    help: `
  gatehouse schema > gatehouse.schema.json
`,
    load: async () => (await import('./schema.ts')).schema,
  },
  {
    name: 'backup',
    usage: 'FOLDER [SETTINGS]',
    summary: 'Writes a verified backup of the data folder and the databases; the server may run.',
    help: BACKUP_HELP,
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    name: 'restore',
    usage: 'FOLDER [SETTINGS]',
    summary: 'Makes an empty data folder, and an empty database, what they were in a backup.',
    help: RESTORE_HELP,
    load: async () => (await import('./backup.ts')).restore,
  },
  {
    name: 'stream',
    usage: '[ADDRESS] [--username NAME] [OPTIONS]',
    summary: 'Opens a streaming session in the terminal, or in a pipe.',
    help: STREAM_HELP,
    load: async () => (await import('./stream.ts')).stream,
  },
  {
    name: 'query',
    usage: '[STATEMENT] [-p NAME=VALUE]… [--json | --csv] [OPTIONS]',
    summary: 'Runs an IQL statement on a running server and shows the result.',
    help: QUERY_HELP,
    load: async () => (await import('./query/query.ts')).query,
  },
  {
    name: 'import',
    usage: 'FILE --table NAME [--create] [OPTIONS]',
    summary: 'Puts the rows of a CSV file in a table of a running server.',
    help: IMPORT_HELP,
    load: async () => (await import('./query/import.ts')).importRows,
  },
  {
    name: 'export',
    usage: '[STATEMENT | --table NAME] [--output FILE] [OPTIONS]',
    summary: 'Writes a table, or the result of a statement, as CSV, NDJSON or Arrow.',
    help: EXPORT_HELP,
    load: async () => (await import('./query/export.ts')).exportRows,
  },
  {
    name: 'migrate',
    usage: '[--dry-run] [--json] [SETTINGS]',
    summary: 'Brings the database to the schema of this program, as every start does.',
    help: MIGRATE_HELP,
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'doctor',
    usage: '[--json] [SETTINGS]',
    summary: 'Looks for what keeps a server from running well, and says how to mend it.',
    help: DOCTOR_HELP,
    load: async () => (await import('./examine.ts')).doctor,
  },
  ...ADMIN_COMMANDS,
]
