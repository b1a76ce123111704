/** `gatehouse columns status|verify|rebuild` */
import { asObject } from '../output/json.ts'
import { list, named } from './actions.ts'
import type { AdminCommand } from './admin-command.ts'

const COLUMNS = '/admin/columns'

export const COLUMN_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'columns status',
    summary: 'Lists the tables with columns = on, and their column segments; needs --server.',
    examples: ['columns status --server https://gate.example.com'],
    run: list(COLUMNS, ['table', 'ready', 'marked', 'missing', 'rows', 'bytes']),
  },
  {
    name: 'columns verify',
    positionals: ['TABLE'],
    summary:
      'Compares the column segments of a table, and what is computed from them, with its rows; needs --server. Segments that differ are written again.',
    examples: ['columns verify trades --server https://gate.example.com'],
    async run({ args, request }) {
      const { body } = await request('POST', named(COLUMNS, 'verify')(args))
      const { table, equal, different, changed } = asObject(body)
      const text = `${table}: ${equal} segments are as the rows, ${different} are not, ${changed} have changed meanwhile.`
      return { kind: 'text', text, body, failed: different !== 0 }
    },
  },
  {
    name: 'columns rebuild',
    positionals: ['TABLE'],
    summary: 'Writes the column segments of a table anew; needs --server.',
    examples: ['columns rebuild trades --server https://gate.example.com'],
    async run({ args, request }) {
      await request('POST', named(COLUMNS, 'rebuild')(args))
      return { kind: 'text', text: `The column segments of ${args.positionals[0]} are written anew.` }
    },
  },
]
