/** docs/commands.md, from the table of commands. */
import { COMMANDS } from '../../src/cli/commands.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/commands.md',
  render: () => `${NOTICE}

# Commands

In a clone, run them with \`npx gatehouse …\`. SETTINGS stands for any [setting](settings.md) as a flag. The exit status
is 0 when all went well, 1 when something was in the way, 2 when the command line itself is wrong.

${COMMANDS.map(
  ({ name, usage, summary, help }) => `## ${name}

${summary}

\`\`\`
gatehouse ${`${name} ${usage}`.trim()}
${help.trimEnd()}
\`\`\`
`,
).join('\n')}`,
}
