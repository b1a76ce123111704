/** docs/commands.md, from the table of commands. */
import { formatUsage } from '../../packages/server/src/cli/args.ts'
import { formatHelp } from '../../packages/server/src/cli/command.ts'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/commands.md',
  render: () => `${NOTICE}

# Commands

In a clone, run them with \`./gatehouse …\`. SETTINGS are [settings](settings.md) given as flags. The exit status is
0 on success, 1 if the command failed, and 2 if the command line or the value of a setting is wrong, wherever the setting comes from.

${COMMANDS.map(
  (command) => `## ${command.name}

${command.summary}

\`\`\`
gatehouse ${formatUsage(command)}
${formatHelp(command).trimEnd()}
\`\`\`
`,
).join('\n')}`,
}
