/** Listeners of one kind of event. An error in one of them does not reach the others, nor the library. */
export class Emitter<Event> {
  readonly #listeners = new Set<(event: Event) => void>()

  /** Returns a function that removes the listener. */
  on(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  emit(event: Event): void {
    for (const listener of [...this.#listeners]) safely(() => listener(event))
  }
}

/** Calls what the application has given; its errors are shown, and nothing else stops. */
export function safely(act: () => void): void {
  try {
    act()
  } catch (error) {
    console.error(error)
  }
}
