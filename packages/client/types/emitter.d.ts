/** Listeners of one kind of event. An error in one of them does not reach the others, nor the library. */
export declare class Emitter<Event> {
    #private;
    /** Returns what takes the listener away again. */
    on(listener: (event: Event) => void): () => void;
    emit(event: Event): void;
}
/** Calls what the application has given; its errors are shown, and nothing else stops. */
export declare function safely(act: () => void): void;
