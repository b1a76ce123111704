/** `gatehouse completion`: scripts with which a shell completes commands and options. */
import { flagName, settingNames } from '../config/config.ts'
import type { Arguments } from './args.ts'
import type { Command } from './command.ts'
import { UsageError } from './errors.ts'

export async function completion({ positionals: [shell] }: Arguments, commands: readonly Command[]): Promise<void> {
  const script = shell === undefined ? undefined : SHELLS.get(shell)
  if (script === undefined) throw new UsageError(`completion takes a shell: ${[...SHELLS.keys()].join(', ')}`)
  const flags = [
    '--help',
    ...commands.flatMap(({ options = {} }) => Object.keys(options)),
    ...settingNames().map(flagName),
  ]
  process.stdout.write(script(groupCommands(commands), [...new Set(flags)]))
}

/** The first words of the commands; the second words of those that are groups. */
type Groups = ReadonlyMap<string, readonly string[]>

const SHELLS: ReadonlyMap<string, (groups: Groups, flags: readonly string[]) => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
])

function groupCommands(commands: readonly Command[]): Groups {
  const groups = new Map<string, string[]>()
  for (const { name } of commands) {
    const [first = '', ...second] = name.split(' ')
    groups.set(first, [...(groups.get(first) ?? []), ...second])
  }
  return groups
}

function bash(groups: Groups, flags: readonly string[]): string {
  const cases = [...groups].filter(([, second]) => second.length > 0)
  return `# gatehouse completion bash > /etc/bash_completion.d/gatehouse
_gatehouse() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [[ "$word" == --* ]]; then words="${flags.join(' ')}"
  elif [[ $COMP_CWORD -eq 1 ]]; then words="${[...groups.keys()].join(' ')}"
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "\${COMP_WORDS[1]}" in
${cases.map(([first, second]) => `      ${first}) words="${second.join(' ')}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _gatehouse gatehouse
`
}

function zsh(groups: Groups, flags: readonly string[]): string {
  return `#compdef gatehouse
# gatehouse completion zsh > "\${fpath[1]}/_gatehouse"
autoload -U +X bashcompinit && bashcompinit
${bash(groups, flags)}`
}

function fish(groups: Groups, flags: readonly string[]): string {
  const lines = ['# gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish', 'complete -c gatehouse -f']
  for (const [first, second] of groups) {
    lines.push(`complete -c gatehouse -n __fish_use_subcommand -a ${first}`)
    if (second.length > 0)
      lines.push(
        `complete -c gatehouse -n '__fish_seen_subcommand_from ${first}; and test (count (commandline -opc)) -eq 2' -a '${second.join(' ')}'`,
      )
  }
  for (const flag of flags) lines.push(`complete -c gatehouse -l ${flag.slice(2)}`)
  return `${lines.join('\n')}\n`
}
