/** Every command of the program. */
import type { Command } from './command.ts'

export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    usage: '[SETTINGS]',
    summary: 'Runs the services of this node.',
    help: '\nEvery setting can be given as a flag, in the environment or in the file of --config; "gatehouse config" shows them.\n\n  gatehouse serve --demo\n  gatehouse serve --host 0.0.0.0 --database-url postgres://gatehouse@db/gatehouse\n',
    load: async () => (await import('./serve.ts')).serve,
  },
]
