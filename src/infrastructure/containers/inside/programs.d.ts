/** Programs that run inside an environment, as text. */
declare module "*.pl" {
  const program: string;
  export default program;
}
declare module "*.sh" {
  const program: string;
  export default program;
}
