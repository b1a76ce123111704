/** Objects whose members may be left out. */
/** Without the members that are undefined, which headers and forms would send as text. */
export declare function defined<T>(members: Readonly<Record<string, T | undefined>>): Record<string, T>;
