/** The path of a program's bundle, if it was built from the sources as they are. */
export function builtFile(name: string): string | undefined
