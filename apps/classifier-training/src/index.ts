export { ClassifierTrainingModule, type ClassifierTrainingOptions } from './classifier-training.module';
