/** Names of tables and columns as a statement has them. */

export function quoteName(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}
