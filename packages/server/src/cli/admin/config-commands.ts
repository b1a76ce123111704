/** `gatehouse config export`: what exists, as a declarative file. */
import { asObject } from '../output/json.ts'
import { printable } from '../output/table.ts'
import type { AdminCommand } from './admin-command.ts'

const HEADER = `# What exists, for "gatehouse apply". There are no passwords and no secrets in this file: set the variables that clients with a secret name, and give people a link for a new password with
# "gatehouse user reset-link". The rows of tables and the messages of feeds are not part of it: see "gatehouse export".
`

export const CONFIG_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'config export',
    options: { '--without-users': { help: 'leave the users out' } },
    summary: 'Writes all that a declarative file can describe as such a file, in YAML and without secrets.',
    examples: [
      'config export > gatehouse.yaml',
      'config export --without-users --json --server https://gate.example.com',
    ],
    async run({ args, request }) {
      const { body } = await request('GET', `/admin/declaration${args.has('--without-users') ? '?users=false' : ''}`)
      const { declaration, omitted } = asObject(body)
      for (const what of Array.isArray(omitted) ? omitted : [])
        process.stderr.write(`gatehouse: not in the file, which cannot describe it: ${printable(String(what))}\n`)
      // As lines: what goes into a file is not changed for the display on a terminal.
      return { kind: 'lines', lines: writeText(declaration, args.has('--json')) }
    },
  },
]

async function* writeText(declaration: unknown, isJson: boolean): AsyncGenerator<string> {
  if (isJson) return yield `${JSON.stringify(declaration, null, 2)}\n`
  const { stringify } = await import('yaml')
  yield HEADER + stringify(declaration, { lineWidth: 130 })
}
