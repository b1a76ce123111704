/** `gatehouse feed purge` */
import { named } from './actions.ts'
import type { AdminCommand } from './admin-command.ts'

export const FEED_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'feed purge',
    positionals: ['FEED'],
    summary:
      'Deletes all messages of a feed, but not the feed; needs --server, because only a running server has them.',
    examples: ['feed purge Prices --yes --server https://gate.example.com'],
    confirm: ([feed]) => `Delete all messages of the feed ${feed}?`,
    async run({ args, request }) {
      await request('POST', named('/admin/feeds', 'purge')(args))
      return { kind: 'text', text: `All messages of the feed ${args.positionals[0]} were deleted.` }
    },
  },
]
