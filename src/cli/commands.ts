/** Every command of the program. */
import { BACKUP_HELP, RESTORE_HELP } from './backup-help.ts'
import type { Command } from './command.ts'

export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    usage: '[SETTINGS]',
    summary: 'Runs the services of this node.',
    help: '\nEvery setting can be given as a flag, in the environment or in the file of --config; "gatehouse config" shows them.\n\n  gatehouse serve --demo\n  gatehouse serve --host 0.0.0.0 --database-url postgres://gatehouse@db/gatehouse\n',
    load: async () => (await import('./serve.ts')).serve,
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
]
