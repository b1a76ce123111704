/** The words of a list that spaces separate, such as the scopes of a token (RFC 6749 §3.3). */
export function splitWords(text: string): string[] {
  return text.split(' ').filter((word) => word !== '')
}
