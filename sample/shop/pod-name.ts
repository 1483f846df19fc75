/** The name of the pod that runs this code. */
export class PodName {
  constructor(readonly value: string) {}
}
