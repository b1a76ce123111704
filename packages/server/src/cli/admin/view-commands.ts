/** `gatehouse view list|show|refresh` */
import { asObject } from '../output/json.ts'
import { list, named, show } from './actions.ts'
import type { AdminCommand } from './admin-command.ts'

const VIEWS = '/admin/views'

export const VIEW_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'view list',
    summary: 'Lists the materialized views; needs --server.',
    examples: ['view list --server https://gate.example.com'],
    run: list(VIEWS, ['name', 'base', 'state', 'behind', 'rows', 'builds', 'error']),
  },
  {
    name: 'view show',
    positionals: ['VIEW'],
    summary: 'Shows a materialized view; needs --server.',
    examples: ['view show bars --server https://gate.example.com'],
    run: show(named(VIEWS)),
  },
  {
    name: 'view refresh',
    positionals: ['VIEW'],
    options: { '--full': { help: 'evaluate all of it, and correct rows that are wrong' } },
    summary: 'Waits until all that was committed before is in a materialized view; needs --server.',
    examples: [
      'view refresh bars --server https://gate.example.com',
      'view refresh bars --full --server https://gate.example.com',
    ],
    async run({ args, request }) {
      const isFull = args.has('--full')
      const path = named(VIEWS, 'refresh')(args)
      const { body } = await request('POST', isFull ? `${path}?full=true` : path)
      const { view, wrong } = asObject(body)
      const text = isFull ? `${view} is built: ${wrong} rows were wrong.` : `${view} is up to date.`
      return { kind: 'text', text, body }
    },
  },
]
