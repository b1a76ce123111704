/** `gatehouse completion`: scripts that let a shell finish the words of a command. */
import { flagName, settingNames } from '../config.ts'
import { Usage } from './command.ts'

const SHELLS = { bash, zsh, fish }

export async function completion(args: readonly string[]): Promise<void> {
  const write = Object.entries(SHELLS).find(([name]) => name === args[0])?.[1]
  if (write === undefined || args.length > 1)
    throw new Usage(`completion takes one shell: ${Object.keys(SHELLS).join(', ')}`)
  const { COMMANDS } = await import('./commands.ts')
  process.stdout.write(write(COMMANDS.map(({ name }) => name)))
}

/** First words, and for each group its second words. */
function wordsOf(names: readonly string[]): Map<string, string[]> {
  const words = new Map<string, string[]>()
  for (const name of names) {
    const [first = '', second] = name.split(' ')
    const group = words.get(first) ?? []
    if (second !== undefined) group.push(second)
    words.set(first, group)
  }
  return words
}

function flags(): string[] {
  return [...settingNames().map(flagName), '--json', '--yes', '--help']
}

function bash(names: readonly string[]): string {
  const groups = [...wordsOf(names)].filter(([, second]) => second.length > 0)
  return `# gatehouse completion bash > /etc/bash_completion.d/gatehouse
_gatehouse() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [[ "$word" == --* ]]; then words="${flags().join(' ')}"
  elif [[ $COMP_CWORD -eq 1 ]]; then words="${[...wordsOf(names).keys()].join(' ')}"
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "\${COMP_WORDS[1]}" in
${groups.map(([first, second]) => `      ${first}) words="${second.join(' ')}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _gatehouse gatehouse
`
}

function zsh(names: readonly string[]): string {
  return `#compdef gatehouse
# gatehouse completion zsh > "\${fpath[1]}/_gatehouse"
autoload -U +X bashcompinit && bashcompinit
${bash(names)}`
}

function fish(names: readonly string[]): string {
  const lines = ['# gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish', 'complete -c gatehouse -f']
  for (const [first, second] of wordsOf(names)) {
    lines.push(`complete -c gatehouse -n __fish_use_subcommand -a ${first}`)
    if (second.length > 0)
      lines.push(
        `complete -c gatehouse -n '__fish_seen_subcommand_from ${first}; and test (count (commandline -opc)) -eq 2' -a '${second.join(' ')}'`,
      )
  }
  for (const flag of flags()) lines.push(`complete -c gatehouse -l ${flag.slice(2)}`)
  return `${lines.join('\n')}\n`
}
