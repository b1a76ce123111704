/** The commands over the administration routes, and those that log in to a server. */
import type { Command } from '../command.ts'
import { CLIENT_COMMANDS } from './client-commands.ts'
import { toCommand } from './command.ts'
import { PLATFORM_COMMANDS } from './platform-commands.ts'
import { USER_COMMANDS } from './user-commands.ts'

export const ADMIN_COMMANDS: readonly Command[] = [
  ...[...USER_COMMANDS, ...CLIENT_COMMANDS, ...PLATFORM_COMMANDS].map(toCommand),
  {
    name: 'login',
    usage: '--server URL [--client CLIENT] [SETTINGS]',
    summary: 'Logs in to a running server, for commands with --server.',
    help: `
The server shows a page for the code that this prints. The client must be registered there with the device grant; see
"gatehouse client add --help".

  --client CLIENT  the client to log in with, gatehouse-cli when left out

  gatehouse login --server https://gate.example.com
`,
    load: async () => (await import('./login.ts')).login,
  },
  {
    name: 'logout',
    usage: '--server URL [SETTINGS]',
    summary: 'Forgets the login and revokes its tokens.',
    help: `
  gatehouse logout --server https://gate.example.com
`,
    load: async () => (await import('./login.ts')).logout,
  },
  {
    name: 'completion',
    usage: 'bash|zsh|fish',
    summary: 'Prints a script that lets the shell finish commands.',
    help: `
  gatehouse completion bash > /etc/bash_completion.d/gatehouse
  gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish
`,
    load: async () => (await import('../completion.ts')).completion,
  },
]
