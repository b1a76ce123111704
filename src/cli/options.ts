/** Reads the options of a command that has its own; what is wrong with them is said in a sentence. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Usage } from './command.ts'

export function readOptions<const T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new Usage(explain(args, error))
  }
}

/** What the parser says is long, and of a token on the command line it does not say why there is no such thing. */
function explain(args: readonly string[], error: unknown): string {
  if (args.some((arg) => /^--token(=|$)/.test(arg)))
    return 'A token on the command line would be seen by others on this machine: --token-file FILE reads it from a file'
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  const option = /--?[\w-]+/.exec(error.message)?.[0] ?? ''
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `There is no option ${option}; --help lists those there are`
  if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') return error.message
  return error.message.includes('does not take an argument')
    ? `${option} takes no value`
    : `${option} needs a value after it`
}
