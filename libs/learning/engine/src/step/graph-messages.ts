/** The protobuf classes of TensorFlow's graph format that tfjs-node ships, as far as they are used here. */
export interface GraphMessages {
  AttrValue: { new (): AttrValue; ListValue: new () => ListValue };
  GraphDef: new () => GraphDef;
  MetaGraphDef: { new (): MetaGraphDef; MetaInfoDef: new () => MetaInfoDef };
  NodeDef: new () => NodeDef;
  SavedModel: new () => SavedModel;
  Tensor: new () => TensorMessage;
  TensorShape: { new (): TensorShape; Dim: new () => Dimension };
  VersionDef: new () => VersionDef;
}

export interface AttrValue {
  setType(type: number): void;
  setB(value: boolean): void;
  setI(value: number): void;
  setF(value: number): void;
  setS(base64: string): void;
  setShape(shape: TensorShape): void;
  setTensor(tensor: TensorMessage): void;
  setList(list: ListValue): void;
}

export interface ListValue {
  setIList(values: number[]): void;
  setFList(values: number[]): void;
  setBList(values: boolean[]): void;
}

export interface NodeDef {
  setName(name: string): void;
  setOp(operation: string): void;
  addInput(input: string): void;
  getAttrMap(): { set(name: string, value: AttrValue): void };
}

export interface TensorMessage {
  setDtype(type: number): void;
  setTensorShape(shape: TensorShape): void;
  setTensorContent(base64: string): void;
}

export interface TensorShape {
  addDim(dimension: Dimension): void;
}

interface Dimension {
  setSize(size: number): void;
}

interface VersionDef {
  setProducer(version: number): void;
}

interface GraphDef {
  addNode(node: NodeDef): void;
  setVersions(versions: VersionDef): void;
}

interface MetaInfoDef {
  addTags(tag: string): void;
}

interface MetaGraphDef {
  setMetaInfoDef(info: MetaInfoDef): void;
  setGraphDef(graph: GraphDef): void;
}

interface SavedModel {
  setSavedModelSchemaVersion(version: number): void;
  addMetaGraphs(graph: MetaGraphDef): void;
  serializeBinary(): Uint8Array;
}
