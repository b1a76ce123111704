/** The name by which the user started the program, for hints that are pasted. */

/** npx and "npm exec" say so in the environment. */
export function programName(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.npm_command === 'exec' ? 'npx gatehouse' : 'gatehouse'
}
